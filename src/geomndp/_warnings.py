"""Warnings of the package. Plain Python, so that the command line knows them without JAX."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator
from contextvars import ContextVar
from types import FrameType

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


def warn_outside_training(reasons: list[str]) -> None:
    """Warn of all reasons at once, where there are any.

    Args:
        reasons: What is outside of what training saw.
    """
    if not reasons:
        return
    text = "; ".join(reasons)
    message = f"outside of what the model was trained on, so less reliable: {text}"
    if not collected(message):
        warn_at_request(message, OutsideTrainingWarning)


def warn_at_request(message: str, category: type[Warning]) -> None:
    """Warn at the line outside the package that made the request.

    Args:
        message: One sentence.
        category: Kind of the warning.
    """
    frame, level = sys._getframe(), 1
    while frame.f_back and _inside(frame):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _inside(frame: FrameType) -> bool:
    """Whether a frame is the package's, or a wrapper around its functions."""
    package = frame.f_globals.get("__name__", "").split(".")[0]
    wrapped = frame.f_code.co_filename.startswith("<@")
    return wrapped or package in ("geomndp", "equinox", "jaxtyping", "beartype")
