"""Tables as cells of text, for every experiment; no JAX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    if value is None or value[0] is None:
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


def noise_tables(noise: Mapping[str, Sequence[dict]]) -> list[Table]:
    """Posteriors of models by the size of observation noise (`noise_levels.noise_rows`).

    Args:
        noise: Rows of every model by its name.

    Returns:
        KL of samples to the exact posterior, and regret of its draws; empty where there are none.
    """
    if not noise:
        return []
    ratios = [row["ratio"] for row in next(iter(noise.values()))]
    header = ("noise over limiting variance", *noise)

    def rows(key: str) -> list[tuple[str, ...]]:
        cells = zip(*([pair(row[key], 3) for row in each] for each in noise.values()), strict=True)
        return [(f"{ratio:.3g}", *line) for ratio, line in zip(ratios, cells, strict=True)]

    floors = tuple(pair(each[0]["floor"], 4) for each in noise.values())
    largest = tuple(f"{_largest_ratio(each):.2f}" for each in noise.values())
    name = "over the larger of those at 0 and 0.001, at most"
    divergences = [*rows("kl"), ("as many exact samples", *floors), (name, *largest)]
    return [
        Table("KL of posterior samples by observation noise", header, divergences),
        Table("Regret by observation noise", header, rows("regret")),
    ]


def noise_density_tables(part: Mapping[str, Sequence[dict]], label: str) -> list[Table]:
    """Held-out log-density of models by observation noise (`noise_densities.density_rows`).

    Args:
        part: Rows of every model by its name, all at the same sizes of noise.
        label: Heading of the sizes.

    Returns:
        One table, none without rows: log-density without noise, then what noise takes from it.
    """
    if not part:
        return []
    header = (label, *part)
    sizes = [row["noise"] for row in next(iter(part.values()))]
    first = ("log-density without noise", *(pair(rows[0]["log_prob"], 3) for rows in part.values()))
    losses = [
        (f"{size:.3g}", *(pair(rows[index]["loss"], 3) for rows in part.values()))
        for index, size in enumerate(sizes)
        if index
    ]
    return [Table("Loss of held-out log-density by observation noise", header, [first, *losses])]


def _largest_ratio(rows: Sequence[dict]) -> float:
    """Largest KL over the larger of those without noise and with little."""
    kl = {row["ratio"]: row["kl"][0] for row in rows}
    return max(kl.values()) / max(kl[0.0], kl[1e-3])
