"""The paper's 1D regression table: shipped models and exact processes beside published figures."""

from __future__ import annotations

from typing import NamedTuple

from geomndp import _pretrained
from geomndp.experiments.regression1d.paper import COLUMNS, PAPER, QUOTED
from geomndp.experiments.table import Table

FOLDERS = {"paper": "regression1d", "gnp2020": "regression1d-gnp2020"}
REGIONS = ("in-range", "out-of-range")


class TableRow(NamedTuple):
    """A label and one cell a data set."""

    label: str
    cells: tuple[str, ...]


def number(value: float, error: float | None = None) -> str:
    """A log-likelihood as the paper prints it: a star below -10."""
    if not value > -10:
        return "*"
    if error is None:
        return f"{value:.2f}"
    digits = 3 if error >= 1e-3 else 4
    return f"{value:.{digits}f} ± {error:.{digits}f}"


def shipped(suite: str) -> list[str]:
    """Data sets of a suite for which a T(1) model ships."""
    return [name for name in COLUMNS if f"{FOLDERS[suite]}/{name}" in _pretrained.names()]


def notes(suite: str, name: str) -> dict | None:
    """Metadata of a shipped model, None if there is none of that name."""
    full = f"{FOLDERS[suite]}/{name}"
    return _pretrained.metadata(full) if full in _pretrained.names() else None


def _measured(suite: str, region: str, suffix: str, key: str, joint: bool = False):
    cells = []
    for name in COLUMNS:
        found = (notes(suite, name + suffix) or {}).get("metrics", {}).get(region, {})
        found = found.get("joint", {}) if joint else found
        cells.append(number(*found[key]) if key in found else "")
    return tuple(cells)


def _own(suite: str, region: str, label: str, suffix: str, *, regret: bool) -> list[TableRow]:
    """A model's rows by its one-solve route and, where measured, by the joint route."""
    table = []
    for joint, route in ((False, ""), (True, ", joint route")):
        lines = [TableRow(label + route, _measured(suite, region, suffix, "log_prob", joint))]
        if regret:
            cells = _measured(suite, region, suffix, "regret", joint)
            lines.append(TableRow(f"regret of {label}{route}", cells))
        table += [line for line in lines if any(line.cells)]
    return table


def rows(suite: str, region: str) -> list[TableRow]:
    """All rows of one region of one suite; an empty cell was not measured."""
    exact = TableRow("GP, exact", _measured(suite, region, "", "gp"))
    table = [exact] if any(exact.cells) else []
    table += _own(suite, region, "T(1)-GeomNDP", "", regret=True)
    if suite == "paper":
        table += _own(suite, region, "NDP*", "-ndp", regret=False)
    published = PAPER if suite == "paper" else QUOTED
    for label, values in published[region].items():
        table.append(TableRow(label, tuple("*" if v is None else number(v) for v in values)))
    return table


def tables(suite: str) -> list[Table]:
    """One table a region."""
    return [
        Table(
            f"suite {suite}, {region}: log-likelihood, nats per target",
            ("", *COLUMNS),
            [(row.label, *row.cells) for row in rows(suite, region)],
        )
        for region in REGIONS
    ]
