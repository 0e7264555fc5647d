"""How far a command is, on the error stream: a bar on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 2.0  # seconds without a word


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Yield update(done)."""
    from rich import progress as rich
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _lines(what, total)
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


def _lines(what: str, total: int) -> Callable[[int], None]:
    start = said = time.monotonic()

    def update(done: int) -> None:
        nonlocal said
        now = time.monotonic()
        if now - said > PATIENCE:
            said = now
            print(f"{what}: {done} of {total}, {now - start:.0f} s", file=sys.stderr, flush=True)

    return update
