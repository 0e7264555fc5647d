"""What one part of the demonstration found."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Number(NamedTuple):
    """A measured number with its unit, and the exact or expected one beside it, as text."""

    name: str
    value: str
    reference: str


class Part(NamedTuple):
    """A figure, what it shows, and its numbers."""

    title: str
    caption: str
    figure: Path
    numbers: list[Number]


def with_error(value: float, error: float, unit: str = "", digits: int = 3) -> str:
    """A number with its standard error and unit."""
    return f"{value:.{digits}f} ± {error:.{digits}f} {unit}".rstrip()
