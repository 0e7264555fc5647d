"""Time from a drag to the new picture in a browser: python -m tests.browser.latency MODEL ...

Prints the median and the largest of twenty moves, after the programs are compiled.
"""

import statistics
import sys
import threading

from playwright.sync_api import sync_playwright

from geomndp.play import Server, open_session

from .conftest import Play, find_browser

MOVES = 20


def moves(play: Play, count: int) -> list[float]:
    """Milliseconds from each of some moves of a held observation to its first picture."""
    root, times = play.locate(".geomndp-playground"), []
    kind = root.get_attribute("data-kind")
    if not play.locate(".handle").count():
        end = (0.5, 0.5) if kind == "globe" else (0.52, 0.42)
        play.page.mouse.move(*play.point(0.5, 0.5))
        play.page.mouse.down()
        play.page.mouse.move(*play.point(*end))
        play.page.mouse.up()
        play.page.wait_for_selector(".handle")
    play.page.mouse.move(*play.centre(".handle"))
    play.page.mouse.down()
    for i in range(count):
        number = int(root.get_attribute("data-number"))
        play.page.mouse.move(*play.point(0.5 + 0.01 * (i % 5), 0.45 + 0.01 * (i % 3)))
        play.page.wait_for_selector(f"[data-latency]:not([data-number='{number}'])")
        times.append(float(root.get_attribute("data-latency")))
    play.page.mouse.up()
    return times


def measure(name: str, browser, screenshot: str | None = None) -> tuple[float, float]:
    """Median and largest milliseconds of a shipped model."""
    server = Server(open_session(name))
    thread = threading.Thread(target=server.run)
    thread.start()
    page = Play(browser.new_page(viewport={"width": 1180, "height": 760}), server)
    page.page.set_default_timeout(300_000)
    page.page.goto(server.address)
    page.page.wait_for_selector("[data-number]")
    moves(page, 3)  # whatever is still to be compiled
    times = moves(page, MOVES)
    if screenshot is not None:
        page.page.screenshot(path=screenshot)
    page.page.close()
    server.stop()
    thread.join()
    return statistics.median(times), max(times)


def main(names: list[str]) -> None:
    """Measure models by name; NAME=FILE keeps a picture of the page as well."""
    with sync_playwright() as playwright:
        path = find_browser()
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for item in names:
            name, _, screenshot = item.partition("=")
            median, largest = measure(name, browser, screenshot or None)
            print(f"{name}: median {median:.0f} ms, largest {largest:.0f} ms", flush=True)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
