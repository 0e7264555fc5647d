"""Tables as cells of text, for every experiment; no JAX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Table(NamedTuple):
    """Cells ready to print."""

    title: str
    header: tuple[str, ...]
    rows: list[tuple[str, ...]]

    def markdown(self) -> str:
        """The cells as Markdown, without the title."""
        lines = ["| " + " | ".join(self.header) + " |", "|---" * len(self.header) + "|"]
        lines += ["| " + " | ".join(row) + " |" for row in self.rows]
        return "\n".join(lines) + "\n"


def pair(value: Sequence[float | int | None] | None, digits: int = 4) -> str:
    """Mean and standard error; nothing where there is none."""
    if value is None:
        return ""
    mean, error = value
    text = f"{mean:.{digits}f}"
    return text if error is None else f"{text} ± {error:.{digits}f}"


def log_likelihood(value: float, error: float | None = None) -> str:
    """A log-likelihood as the paper prints it: a star below -10."""
    if not value > -10:
        return "*"
    if error is None:
        return f"{value:.2f}"
    digits = 3 if error >= 1e-3 else 4
    return f"{value:.{digits}f} ± {error:.{digits}f}"


def score_errors(part: dict) -> Table:
    """Integrated error of the score."""
    rows = [
        (name, pair(entry["joint"]["gap"], 5), pair(entry["conditional"]["gap"], 5))
        for name, entry in part.items()
    ]
    header = ("model", "joint", "conditional")
    return Table("Error of the score, nats per target", header, rows)


def noise_table(name: str, rows: Sequence[dict]) -> Table:
    """Posteriors of a model by the size of observation noise (`noise_levels.noise_rows`)."""
    header = ("noise over limiting variance", "KL of samples", "KL of exact samples", "regret")
    lines = [
        (f"{row['ratio']:.3g}", pair(row["kl"], 2), pair(row["floor"], 2), pair(row["regret"], 3))
        for row in rows
    ]
    return Table(f"Posteriors by observation noise, {name}", header, lines)
