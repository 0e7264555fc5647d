"""Progress on standard error: a bar on a terminal, a few lines elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")
QUIET_SECONDS = 2.0  # seconds before the first line; every further one takes twice as long


@contextmanager
def quiet_at_first(what: str, total: int) -> Iterator[Callable[[float], None]]:
    """Yield update(done): a bar if it takes more than `QUIET_SECONDS` seconds."""
    start, shown = time.monotonic(), ExitStack()

    def update(done: float | int) -> None:
        if time.monotonic() - start > QUIET_SECONDS:
            if not bars:
                bars.append(shown.enter_context(progress(what, total)))
            bars[0](int(done))

    bars: list[Callable[[int], None]] = []
    with shown:
        yield update


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Context manager that yields update(done), for a computation of `total` steps."""
    from rich import progress as rich
    from rich.console import Console

    console, reached = Console(stderr=True), [0]
    if not console.is_terminal:
        with _lines(lambda: f"{what}: {reached[0]} of {total}"):
            yield lambda done: reached.__setitem__(0, done)
        return
    columns = (
        rich.SpinnerColumn(),
        rich.TextColumn(what),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TimeElapsedColumn(),
    )
    with rich.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)


@contextmanager
def busy(what: str) -> Iterator[None]:
    """Show that something runs whose duration is not known."""
    from rich.console import Console

    console = Console(stderr=True)
    with console.status(f"{what}...") if console.is_terminal else _lines(lambda: what):
        yield


def each(what: str, items: Iterable[Item]) -> Iterator[Item]:
    """Iterate over items that take long to make, with a sign of life for each."""
    rest = iter(items)
    while True:
        with busy(what):
            block = list(islice(rest, 1))
        if not block:
            return
        yield block[0]


@contextmanager
def _lines(text: Callable[[], str]) -> Iterator[None]:
    """Print lines in the background until done."""
    done, start = threading.Event(), time.monotonic()

    def speak() -> None:
        pause = QUIET_SECONDS
        while not done.wait(pause):
            print(f"{text()}, {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
            pause *= 2

    thread = threading.Thread(target=speak, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
