import base64
import json
import queue
import threading

import numpy as np
import pytest

from geomndp.play.exchange import FORMATS, export, import_observations
from geomndp.play.protocol import MAX_MESSAGE, Page, read_message, sentence
from geomndp.play.scene import scene_of
from geomndp.play.worker import Ask, Superseded, Worker

from .models import OBSERVED, SESSIONS, earth_session, globe_model, line_model


class Messages:
    """What a page was sent."""

    def __init__(self):
        self.queue = queue.Queue()

    def __call__(self, message):
        self.queue.put(json.loads(json.dumps(message, allow_nan=False)))

    def next(self, *types):
        while True:
            message = self.queue.get(timeout=20)
            if message["type"] in types:
                return message


@pytest.fixture
def worker(exact_session):
    worker = Worker(exact_session, sentence, warm=False)
    yield worker
    worker.close()


@pytest.fixture
def page(exact_session, worker):
    messages = Messages()
    page = Page(exact_session, worker, messages)
    page.messages = messages
    assert messages.next("hello")["kind"] == "line"
    return page


def test_an_answer_carries_the_number_of_its_request(page):
    page.receive(json.dumps({"type": "ask", "number": 7, "state": {"samples": 4, "targets": 12}}))
    assert page.messages.next("computing")["number"] == 7
    picture = page.messages.next("picture", "error")
    assert picture["type"] == "picture", picture
    assert picture["number"] == 7 and picture["refined"]
    assert np.shape(picture["picture"]["samples"]) == (4, 12, 1)


WRONG = [
    "",
    "{",
    "[]",
    "null",
    '{"type": 1, "number": 1}',
    '{"type": "quit", "number": 1}',
    '{"type": "ask", "state": {}}',
    '{"type": "ask", "number": -1, "state": {}}',
    '{"type": "ask", "number": 1.5, "state": {}}',
    '{"type": "ask", "number": true, "state": {}}',
    '{"type": "ask", "number": 1, "state": {"seed": NaN}}',
    '{"type": "ask", "number": 1, "state": {"seed": 1e999}}',
    '{"type": "ask", "number": 1, "state": {}, "more": 1}',
    '{"type": "ask", "number": 1, "state": {"sampler": "langevin"}}',
    '{"type": "export", "number": 1, "state": {}, "what": "all", "ending": "csv"}',
    '{"type": "export", "number": 1, "state": {}, "what": "samples", "ending": "../x"}',
    '{"type": "export", "number": 1, "state": {}, "what": "samples", "ending": "geojson"}',
    '{"type": "export", "number": 1, "state": {}, "what": "observations", "ending": "csv"}',
    '{"type": "import", "number": 1, "name": "a.csv", "content": "%%"}',
    '{"type": "import", "number": 1, "name": "a.exe", "content": "eA=="}',
    '{"type": "import", "number": 1, "name": "a.csv", "content": "eA=="}',
    '{"type": "import", "number": 1, "name": "a.nc", "content": "eA=="}',
    '{"type": "import", "number": 1, "name": 3, "content": "eA=="}',
    "[" * 100_000,
]


@pytest.mark.parametrize("text", WRONG, ids=range(len(WRONG)))
def test_malformed_messages_are_answered_by_a_sentence(text, page):
    page.receive(text)
    wrong = page.messages.next("error", "picture", "file", "observations")
    assert wrong["type"] == "error" and wrong["sentence"].startswith("expected ")
    assert "/tmp" not in wrong["sentence"] and "\n" not in wrong["sentence"]


def test_long_messages_are_refused():
    with pytest.raises(ValueError, match="at most"):
        read_message(" " * (MAX_MESSAGE + 1))


class Slow:
    """A session whose answers wait for a sign."""

    def __init__(self):
        self.answered, self.go, self.stopped = [], threading.Event(), 0

    def stages(self, request):
        return [None, "better"]

    def answer(self, request, stage, progress):
        assert self.go.wait(60)
        if progress:
            try:
                progress(1)
            except Superseded:
                self.stopped += 1
                raise
        self.answered.append((request, stage))
        return {}


def test_the_newest_request_wins_and_refinement_gives_way():
    session, messages = Slow(), Messages()
    worker = Worker(session, sentence, warm=False)
    for number in range(1, 6):
        worker.ask("page", Ask(number, number, messages))
        if number == 1:
            assert messages.next("computing")["number"] == 1
    worker.ask("other page", Ask(9, 9, messages))
    session.go.set()
    numbers = [messages.next("picture")["number"] for _ in range(5)]
    worker.close()
    # The first was being computed, those after it were replaced; both pages are refined after.
    assert numbers[:3] == [1, 5, 9] and sorted(numbers[3:]) == [5, 9]
    assert session.answered[:3] == [(1, None), (5, None), (9, None)]


def test_a_request_ends_a_refinement():
    session, messages = Slow(), Messages()
    worker = Worker(session, sentence, warm=False)
    session.go.set()
    worker.ask("page", Ask(1, 1, messages))
    assert messages.next("picture")["refined"] is False
    session.go.clear()
    while messages.next("computing")["stage"] == 0:
        pass
    worker.ask("page", Ask(2, 2, messages))
    session.go.set()
    answers = [messages.next("picture") for _ in range(2)]
    worker.close()
    assert [(each["number"], each["refined"]) for each in answers] == [(2, False), (2, True)]
    assert session.stopped == 1 and (1, "better") not in session.answered


def test_a_page_that_is_gone_is_forgotten():
    session, messages = Slow(), Messages()
    worker = Worker(session, sentence, warm=False)
    worker.ask("one", Ask(1, 1, messages))
    messages.next("computing")
    worker.ask("two", Ask(2, 2, messages))
    worker.forget("two")
    session.go.set()
    assert messages.next("picture")["number"] == 1
    worker.close()
    assert all(request == 1 for request, _ in session.answered)


@pytest.mark.parametrize("kind", ["line", "plane", "globe", "earth"])
@pytest.mark.parametrize("ending", ["csv", "nc"])
def test_observations_come_back_from_a_file(kind, ending):
    session = earth_session() if kind == "earth" else SESSIONS[kind]()
    request = session.read({"observations": OBSERVED[kind]})
    file = export(session, request, "observations", ending)
    rows = import_observations(session.scene, file.name, file.content)
    for row, expected in zip(rows, OBSERVED[kind], strict=True):
        for part in ("x", "y", "std"):
            np.testing.assert_allclose(row[part], expected[part], atol=1e-6)


@pytest.mark.parametrize("ending", ["csv", "nc"])
def test_samples_of_a_file_are_those_of_the_picture(ending, exact_session, tmp_path):
    from geomndp._table_files import read_table

    request = exact_session.read({"samples": 3, "targets": 12, "observations": OBSERVED["line"]})
    file = export(exact_session, request, "samples", ending)
    assert file.media == FORMATS[ending]
    (tmp_path / file.name).write_bytes(file.content)
    table = read_table(str(tmp_path / file.name))
    values = np.asarray(table["y"]).reshape(3, 12, 1)
    np.testing.assert_allclose(values, exact_session.answer(request)["samples"], atol=1e-6)


def test_files_travel_through_messages(page):
    state = {"observations": OBSERVED["line"]}
    message = {"type": "export", "state": state, "what": "observations", "ending": "csv"}
    page.receive({**message, "number": 3})
    file = page.messages.next("file")
    assert file["number"] == 3 and base64.b64decode(file["content"]).startswith(b"x,y,std")
    message = {"type": "import", "name": file["name"], "content": file["content"]}
    page.receive({**message, "number": 4})
    assert page.messages.next("observations")["observations"] == OBSERVED["line"]


def test_an_answer_that_cannot_be_sent_is_an_error_and_others_go_on():
    session, messages = Slow(), Messages()
    session.go.set()
    answers = [{"mean": float("nan")}, {}]
    session.answer = lambda request, stage, progress: answers[request]
    worker = Worker(session, sentence, warm=False)
    for number in range(2):
        worker.ask("page", Ask(number, number, messages))
        answer = messages.next("picture", "error")
        assert answer["number"] == number
        assert answer["type"] == ("picture" if number else "error")
    worker.close()


def test_a_page_that_is_gone_ends_its_answer():
    session, messages = Slow(), Messages()
    worker = Worker(session, sentence, warm=False)
    worker.ask("gone", Ask(1, 1, messages))
    messages.next("computing")
    worker.forget("gone")
    worker.ask("page", Ask(2, 2, messages))
    session.go.set()
    assert messages.next("picture", "error")["number"] == 2
    worker.close()
    assert session.stopped == 1 and (1, None) not in session.answered


def test_a_long_first_answer_ends_for_a_newer_one(monkeypatch):
    monkeypatch.setattr("geomndp.play.worker.PATIENCE_SECONDS", 0.0)
    session, messages = Slow(), Messages()
    worker = Worker(session, sentence, warm=False)
    worker.ask("page", Ask(1, 1, messages))
    messages.next("computing")
    worker.ask("page", Ask(2, 2, messages))
    session.go.set()
    assert messages.next("picture", "error")["number"] == 2
    worker.close()


@pytest.mark.parametrize(
    ("kind", "unit", "wanted"),
    [
        ("line", "", None),
        ("line", " [m]", None),
        ("line", " [cm]", "m"),
        ("globe", " [km]", None),
        ("globe", " [m]", "km"),
    ],
)
def test_units_of_an_imported_std_are_those_of_the_values(kind, unit, wanted):
    model = globe_model() if kind == "globe" else line_model()
    if kind == "line":
        model = model.with_variables("x", "y", units={"y": "m"})
    scene = scene_of(model)
    names = scene.variables.input_names + scene.variables.output_names
    numbers = ",".join(str(10 * i) for i, _ in enumerate(names))
    content = f"{','.join(names)},std{unit}\n{numbers},0.5\n".encode()
    if wanted is None:
        assert import_observations(scene, "data.csv", content)[0]["std"] == 0.5
        return
    with pytest.raises(ValueError, match=f"deviations in 'std' in {wanted}, got units"):
        import_observations(scene, "data.csv", content)
