"""A Chromium that is found on this machine, servers of small models, and pages of theirs."""

import os
import shutil
import threading
from contextlib import ExitStack, contextmanager

import pytest

from geomndp.play import Server, Session

from ..play.models import (
    GP_1D,
    earth_session,
    exact,
    globe_session,
    line_model,
    line_session,
    plane_session,
)

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
SECONDS = 30


def find_browser() -> str | None:
    """Path of a Chromium: GEOMNDP_BROWSER, or one of the usual names."""
    named = os.environ.get("GEOMNDP_BROWSER")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


def pytest_collection_modifyitems(items):
    """All tests of this folder need a browser, and are slow."""
    for item in items:
        if "/tests/browser/" in item.path.as_posix():
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def browser():
    path = find_browser()
    if path is None:
        pytest.skip(
            "no Chromium found: install Debian's chromium-headless-shell or chromium, or name one "
            "by GEOMNDP_BROWSER"
        )
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def serving(session: Session):
    """A running server."""
    server = Server(session, warm=False)
    thread = threading.Thread(target=server.run)
    thread.start()
    yield server
    server.stop()
    thread.join()


def exact_line() -> Session:
    model = exact(GP_1D, line_model())
    start = {"samples": 8, "targets": 12, "observations": []}
    return Session(model, "exact line", model, start)


SESSIONS = {
    "exact": exact_line,
    "sampled": line_session,
    "plane": lambda: plane_session(steps=2),
    "globe": lambda: globe_session(steps=2),
    "earth": earth_session,
}


@pytest.fixture(scope="session")
def servers():
    """Servers by the name of their session, started when they are first needed."""
    running = {}
    with ExitStack() as stack:

        def start(name: str) -> Server:
            if name not in running:
                running[name] = stack.enter_context(serving(SESSIONS[name]()))
            return running[name]

        yield start


class Play:
    """A page of a playground, and what one does with it."""

    def __init__(self, page, server):
        self.page, self.server = page, server
        self.errors, self.requests = [], []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.set_default_timeout(1000 * SECONDS)

    def open(self, fragment: str = ""):
        self.page.goto(self.server.address + fragment)
        return self.drawn()

    def drawn(self):
        """Wait until the newest request is answered."""
        self.page.wait_for_timeout(50)
        self.page.wait_for_selector("[data-busy='false'][data-number]")
        return self

    def locate(self, selector):
        return self.page.locator(selector)

    def point(self, across: float, down: float):
        box = self.locate("svg.picture").bounding_box()
        return box["x"] + across * box["width"], box["y"] + down * box["height"]

    def click(self, across: float, down: float):
        self.page.mouse.click(*self.point(across, down))
        return self.drawn()

    def drag(self, start, end, steps: int = 4):
        self.page.mouse.move(*start)
        self.page.mouse.down()
        self.page.mouse.move(*end, steps=steps)
        self.page.mouse.up()
        return self.drawn()

    def centre(self, selector, index: int = 0):
        box = self.locate(selector).nth(index).bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def field(self, label):
        return self.page.get_by_label(label, exact=True)

    def set(self, label, value):
        self.field(label).fill(str(value))
        self.field(label).press("Enter")
        self.field(label).blur()
        return self

    def numbers(self) -> list[list[float]]:
        """Observations as the table shows them."""
        rows = self.locate(".observations tbody tr")
        return [
            [float(value.input_value()) for value in rows.nth(i).locator("input").all()]
            for i in range(rows.count())
        ]

    @property
    def readout(self) -> str:
        return self.locate(".readout").inner_text()

    @property
    def alert(self) -> str:
        return self.locate(".alert").inner_text()


@pytest.fixture
def play(browser, servers):
    """(name, **options of the context) -> a page of that session, drawn."""
    with ExitStack() as stack:
        opened = []

        def open_page(name: str, fragment: str = "", context=None, **options) -> Play:
            if context is None:
                options = {"viewport": {"width": 1180, "height": 760}, **options}
                context = browser.new_context(**options)
                stack.callback(context.close)
            page = Play(context.new_page(), servers(name))
            opened.append(page)
            return page.open(fragment)

        yield open_page
        for page in opened:
            assert page.errors == []
