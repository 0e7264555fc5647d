"""The clock of a fit: what is spent, what is left, also of a run that was stopped and resumed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from geomndp import _atomic_io

NAME = "seconds.json"
OTHER = "other"


def now() -> float:
    """Seconds since some moment."""
    return time.monotonic()


class FitClock:
    """Seconds of a fit by part; those of a stopped run are read from its folder, and add up.

    Attributes:
        total: Seconds that the whole fit may take.
        parts: Seconds by part, without the time since the last change of part.
    """

    def __init__(self, total: float, folder: Path | None = None):
        """Start the clock.

        Args:
            total: Seconds that the whole fit may take.
            folder: Keeps the seconds; None for nowhere.
        """
        self.total, self._path = total, None if folder is None else folder / NAME
        self.parts: dict[str, float] = {}
        if self._path is not None and self._path.exists():
            self.parts = json.loads(self._path.read_text(encoding="utf-8"))
        self._part, self._since = OTHER, now()

    def elapsed(self) -> float:
        """Seconds that are spent."""
        return sum(self.parts.values()) + now() - self._since

    def left(self) -> float:
        """Seconds that are left, negative where the time is up."""
        return self.total - self.elapsed()

    def save(self) -> None:
        """Book the seconds since the last change, and write them to the folder."""
        moment = now()
        self.parts[self._part] = self.parts.get(self._part, 0.0) + moment - self._since
        self._since = moment
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            _atomic_io.write(self._path, json.dumps(self.parts, indent=1) + "\n")

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Book the seconds within the block to a part of the fit.

        Args:
            name: Its name.

        Yields:
            Nothing.
        """
        before = self._part
        self.save()
        self._part = name
        try:
            yield
        finally:
            self.save()
            self._part = before


Left = Callable[[], float]
"""Tells the seconds that are left for something."""
