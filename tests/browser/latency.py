"""Time from a drag to the new picture in a browser, of a line, a plane and a globe by default.

python -m tests.browser.latency [--out latency.json] [MODEL[=SCREENSHOT.png] ...]

Prints a table in markdown with the median and the largest of twenty moves, after the programs are
compiled, and how busy the machine was; `--out` keeps the same numbers as JSON.
"""

import argparse
import json
import os
import statistics
import threading
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from geomndp.play import Server, open_session

from .conftest import Play, find_browser

MOVES = 20
WARM_UP_SECONDS = 60
"""Time in which a new session compiles its programs: moves before share the cores with it."""
MODELS = ("regression1d/se", "vector-fields/div-free", "cyclones/ibtracs")
COLUMNS = ("model", "picture", "median_ms", "largest_ms", "cores", "load")


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


def measure(name: str, browser, screenshot: str | None = None) -> dict:
    """Row of a shipped model: milliseconds, and the load of the machine before."""
    load = round(os.getloadavg()[0], 1)
    server = Server(open_session(name))
    thread = threading.Thread(target=server.run)
    thread.start()
    page = Play(browser.new_page(viewport={"width": 1180, "height": 760}), server)
    page.page.set_default_timeout(300_000)
    page.page.goto(server.address)
    page.page.wait_for_selector("[data-number]")
    moves(page, 3)  # whatever is still to be compiled
    time.sleep(WARM_UP_SECONDS)
    times = moves(page, MOVES)
    picture = page.locate(".geomndp-playground").get_attribute("data-kind")
    if screenshot is not None:
        page.page.screenshot(path=screenshot)
    page.page.close()
    server.stop()
    thread.join()
    median, largest = round(statistics.median(times)), round(max(times))
    row = (name, picture, median, largest, os.cpu_count(), load)
    return dict(zip(COLUMNS, row, strict=True))


def line(cells) -> str:
    """A line of a table in markdown."""
    return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    """Measure models by name; NAME=FILE keeps a picture of the page as well."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    if (path := find_browser()) is None:
        parser.error("no Chromium found: install Debian's chromium, or set GEOMNDP_BROWSER")
    rows = []
    print(line(COLUMNS), line("---" for _ in COLUMNS), sep="\n")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for item in args.models:
            name, _, screenshot = item.partition("=")
            rows.append(measure(name, browser, screenshot or None))
            print(line(rows[-1].values()), flush=True)
        browser.close()
    if args.out is not None:
        args.out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
