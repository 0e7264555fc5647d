"""Progress: a bar on a terminal, a few lines elsewhere, and steps in stretches of about a second.

Between stretches Python has control, sees Ctrl-C and reports. JAX is not imported before a stretch.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from itertools import islice
from typing import Any, TypeVar

Item = TypeVar("Item")
QUIET_SECONDS = 2.0  # seconds before the first line; every further one takes twice as long
STRETCH_SECONDS, MAX_STEP_SECONDS = 1.0, 2.0
"""Seconds that a stretch of steps should take, and that one step may take."""
CALLED_SECONDS = 0.1
"""Seconds between two calls of a function that hears of progress, and may end the work."""

Progress = bool | Callable[[float], None]
"""True for a bar on a terminal, False for none, or a function called with the amount done."""


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

    console, reached, start = Console(stderr=True), [0], time.monotonic()
    if not console.is_terminal:

        def text() -> str:
            left = time_left(reached[0], total, time.monotonic() - start)
            return f"{what}: {reached[0]} of {total}{left}"

        with _lines(text):
            yield lambda done: reached.__setitem__(0, done)
        return
    columns = (
        rich.SpinnerColumn(),
        rich.TextColumn(what),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TimeElapsedColumn(),
        rich.TimeRemainingColumn(),
    )
    with rich.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)


def time_left(done: int, total: int, seconds: float) -> str:
    """Words for the time that is left if it goes on as it did; none before the first step."""
    if not 0 < done < total:
        return ""
    left = seconds * (total - done) / done
    hours, minutes = left / 3600, left / 60
    amount = f"{hours:.1f} h" if hours >= 2 else f"{minutes:.0f} min" if minutes >= 2 else None
    return f", about {amount or f'{left:.0f} s'} left"


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


@contextmanager
def reporting(what: str, total: int, progress: Progress) -> Iterator[Callable[[float], None]]:
    """Yield report(done), which passes on the amount done: to a function, a bar, or nowhere."""
    if callable(progress):
        yield progress
    elif progress and sys.stderr.isatty() and find_spec("rich") is not None:
        with quiet_at_first(what, total) as update:
            yield update
    else:
        yield lambda done: None


class Clock:
    """How many steps fit into a stretch, by how long those before took.

    `patient`: blocks were made smaller once for steps that took long, which compiles anew. On a
    busy machine they may take long again. `progress`: a function that is called between stretches
    makes them short.
    """

    def __init__(self, patient: bool = False, progress: Progress = True) -> None:
        """Nothing is known yet."""
        self.seconds: float | None = None
        self.patient = patient
        self.stretch_seconds = CALLED_SECONDS if callable(progress) else STRETCH_SECONDS

    @property
    def slow(self) -> bool:
        """Whether a single step takes longer than it may."""
        return self.seconds is not None and self.seconds > MAX_STEP_SECONDS

    def stretch(self, left: int) -> int:
        """Steps of the next stretch: one to begin with."""
        if self.seconds is None:
            return 1
        return min(left, max(1, int(self.stretch_seconds / max(self.seconds, 1e-9))))

    def through(self, total: int, move: Callable[[int, int], Any]) -> Iterator[int]:
        """Make all steps by move(start, stop); yields the number of those that are done."""
        import jax

        done = 0
        while done < total:
            stop = done + self.stretch(total - done)
            since = time.monotonic()
            jax.block_until_ready(move(done, stop))
            self.seconds = (time.monotonic() - since) / (stop - done)
            done = stop
            yield done
