"""Steps in stretches of about a second: between them Python has control, and hears Ctrl-C."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax

from geomndp._progress import quiet_at_first

STRETCH, LONGEST = 1.0, 2.0
"""Seconds that a stretch of steps should take, and that one step may take."""

Progress = bool | Callable[[float], None]
"""True for a bar on a terminal, False for none, or a function that hears how much is done."""


class Clock:
    """How many steps fit into a stretch, by how long those before took.

    `patient`: blocks were made smaller once for steps that took long, which compiles anew. On a
    busy machine they may take long again.
    """

    def __init__(self, patient: bool = False) -> None:
        """Nothing is known yet."""
        self.seconds: float | None = None
        self.patient = patient

    @property
    def slow(self) -> bool:
        """Whether a single step takes longer than it may."""
        return self.seconds is not None and self.seconds > LONGEST

    def stretch(self, left: int) -> int:
        """Steps of the next stretch: one to begin with."""
        if self.seconds is None:
            return 1
        return min(left, max(1, int(STRETCH / max(self.seconds, 1e-9))))

    def through(self, total: int, move: Callable[[int, int], Any]) -> Iterator[int]:
        """Make all steps by move(start, stop); yields the number of those that are done."""
        done = 0
        while done < total:
            stop = done + self.stretch(total - done)
            since = time.monotonic()
            jax.block_until_ready(move(done, stop))
            self.seconds = (time.monotonic() - since) / (stop - done)
            done = stop
            yield done


@contextmanager
def reporting(what: str, total: int, progress: Progress) -> Iterator[Callable[[float], None]]:
    """Yield report(done), which tells whoever wants to know."""
    if callable(progress):
        yield progress
    elif progress:
        with quiet_at_first(what, total) as update:
            yield update
    else:
        yield lambda done: None
