"""Pictures of the wind models: none before a model comes with the package."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from geomndp.experiments.base import Unavailable


def figures(results: dict, folder: Path, data: str | None = None) -> Iterable[Path]:
    """Raise `Unavailable`: no model of winds comes with the package yet.

    Args:
        results: Stored results.
        folder: Where figures would go.
        data: Folder of the winds.
    """
    raise Unavailable("no model of winds comes with the package yet")
