"""Neural processes by name; a method's module is imported when it is asked for."""

from __future__ import annotations

from typing import Any

from geomndp import _model_files, _validation
from geomndp._methods import METHODS


def process_class(name: str) -> Any:
    """Look up a neural process.

    Args:
        name: A key of `METHODS`.

    Returns:
        The class, whose module is imported here.

    Raises:
        ValueError: If there is no method of that name.
    """
    _validation.one_of("method", name, tuple(METHODS))
    return _model_files.class_of(METHODS[name])


__all__ = ["METHODS", "process_class"]
