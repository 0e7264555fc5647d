"""Warnings of the package. Plain Python, so that the command line knows them without JAX."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

_COLLECTED: ContextVar[list[str] | None] = ContextVar("collected", default=None)


class OutsideTrainingWarning(UserWarning):
    """A request leaves what the model saw in training, where its answers are not reliable."""


class ApproximationWarning(UserWarning):
    """An answer is approximate in a way that its error estimates do not show."""


class FirstOrderNoiseWarning(ApproximationWarning):
    """Known noise went through a transform of the outputs to first order only."""


def collected(message: str) -> bool:
    """Whether `collect_outside_training` takes this message, so that no warning is needed.

    Args:
        message: One sentence.
    """
    listed = _COLLECTED.get()
    if listed is not None:
        listed.append(message)
    return listed is not None


@contextlib.contextmanager
def collect_outside_training() -> Iterator[list[str]]:
    """Collect these warnings of the current thread alone: filters are those of the whole process.

    Yields:
        The list to which they are appended.
    """
    listed: list[str] = []
    token = _COLLECTED.set(listed)
    try:
        yield listed
    finally:
        _COLLECTED.reset(token)
