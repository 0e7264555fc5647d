"""Tables in markdown, as the documentation shows them."""

from collections.abc import Iterable, Sequence


def number(value: float) -> str:
    """Two digits that matter: 0.0012, 0.083, 2.1e-05."""
    return f"{value:.1e}" if 0 < abs(value) < 1e-4 else f"{value:.2g}"


def markdown(header: Sequence[str], rows: Iterable[Sequence[str | float]]) -> str:
    """Table whose columns line up; numbers are shortened."""
    cells = [list(header)]
    cells += [[cell if isinstance(cell, str) else number(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    lines = ["| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in cells]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)
