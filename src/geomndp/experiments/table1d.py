"""The paper's 1D regression table: shipped models and exact processes beside published figures."""

from __future__ import annotations

from typing import NamedTuple

from geomndp import _shipped
from geomndp.experiments.published import COLUMNS, PAPER, QUOTED

FOLDERS = {"paper": "regression1d", "gnp2020": "regression1d-gnp2020"}
REGIONS = ("interpolation", "generalisation")


class TableRow(NamedTuple):
    """A label and one cell a data set."""

    label: str
    cells: tuple[str, ...]


def number(value: float, error: float | None = None) -> str:
    """A log-likelihood as the paper prints it: a star below -10."""
    if not value > -10:
        return "*"
    return f"{value:.2f}" if error is None else f"{value:.3f} ± {error:.3f}"


def notes(suite: str, name: str) -> dict | None:
    """Metadata of a shipped model, None if there is none of that name."""
    full = f"{FOLDERS[suite]}/{name}"
    return _shipped.metadata(full) if full in _shipped.names() else None


def _measured(suite: str, region: str, suffix: str, key: str) -> tuple[str, ...]:
    cells = []
    for name in COLUMNS:
        found = (notes(suite, name + suffix) or {}).get("metrics", {}).get(region, {})
        cells.append(number(*found[key]) if key in found else "")
    return tuple(cells)


def rows(suite: str, region: str) -> list[TableRow]:
    """All rows of one region of one suite; an empty cell was not measured."""
    table = [
        TableRow("GP, exact", _measured(suite, region, "", "gp")),
        TableRow("T(1)-GeomNDP", _measured(suite, region, "", "log_prob")),
        TableRow("regret of T(1)", _measured(suite, region, "", "regret")),
    ]
    if suite == "paper":
        table.append(TableRow("NDP*", _measured(suite, region, "-ndp", "log_prob")))
    published = PAPER if suite == "paper" else QUOTED
    for label, values in published[region].items():
        table.append(TableRow(label, tuple("*" if v is None else number(v) for v in values)))
    return table


def markdown(suite: str) -> str:
    """Both regions as one Markdown table."""
    lines = [f"| {suite} | " + " | ".join(COLUMNS) + " |", "|---" * (1 + len(COLUMNS)) + "|"]
    for region in REGIONS:
        lines.append(f"| *{region}* |" + " |" * len(COLUMNS))
        lines += [f"| {row.label} | " + " | ".join(row.cells) + " |" for row in rows(suite, region)]
    return "\n".join(lines) + "\n"
