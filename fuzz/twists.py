"""A valid thing with a few parts replaced by odd ones, such that each replacement can be undone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any


class Twister:
    """Decides part by part whether it is twisted, each from random numbers of its own.

    With `only`, all twists but those are left out, and the others stay as they were: that is how a
    finding is made smaller.
    """

    def __init__(self, seed: str, share: float, only: frozenset[str] | None = None):
        self.seed, self.share, self.only = seed, share, only
        self.made: list[str] = []

    def random(self, name: str) -> Random:
        """Random numbers of one part."""
        return Random(f"{self.seed}/{name}")

    def pick(self, name: str, options: Sequence[Any]) -> Any:
        """One of several valid things."""
        return self.random(name).choice(options)

    def __call__(self, name: str, good: Any, odd: Callable[[Random], Any]) -> Any:
        """The part as it should be, or an odd one where that can be made."""
        random = self.random(name)
        if random.random() >= self.share or (self.only is not None and name not in self.only):
            return good
        try:
            found = odd(random)
        except Exception:  # pandas, xarray and NumPy refuse some odd things themselves
            return good
        self.made.append(name)
        return found
