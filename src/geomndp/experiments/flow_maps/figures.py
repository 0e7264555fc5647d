"""Students have tables and no figures."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from geomndp.experiments.base import Unavailable


def figures(results: dict, folder: Path, data: str | None = None) -> Iterable[Path]:
    """Raise `Unavailable`.

    Args:
        results: Stored results.
        folder: Where figures would go.
        data: Archive of tracks.
    """
    raise Unavailable("the results of students are tables")
