"""Figures as files, written to a temporary name and renamed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def save_figure(figure: Any, path: str | os.PathLike[str]) -> Path:
    """Write a figure by the ending of its path, and close it."""
    import matplotlib.pyplot as plt

    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        figure.savefig(temporary, dpi=150, bbox_inches="tight")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
        plt.close(figure)
    return path
