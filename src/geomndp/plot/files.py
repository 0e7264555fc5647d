"""Figures as files, written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from geomndp import _atomic_io


def save_figure(figure: Any, path: str | os.PathLike[str]) -> Path:
    """Write a figure by the ending of its path, atomically, and close it.

    Args:
        figure: A figure of matplotlib.
        path: File to write; folders are made.

    Returns:
        The path.
    """
    import matplotlib.pyplot as plt

    try:
        with _atomic_io.replacing(path) as temporary:
            figure.savefig(temporary, dpi=150, bbox_inches="tight")
    finally:
        plt.close(figure)
    return Path(path)
