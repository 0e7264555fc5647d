"""The paper's 1D regression table: shipped models and exact processes beside published numbers."""

from __future__ import annotations

from typing import NamedTuple

from geomndp import _pretrained
from geomndp.experiments.regression1d.experiment import NAMES, REGIONS, RegressionSpec
from geomndp.experiments.regression1d.paper import DATASETS, PAPER, QUOTED
from geomndp.experiments.table import Table, log_likelihood

LABELS = {"T(1)-GeomNDP": True, "NDP*": False}
"""Rows of models: whether they are translation-invariant."""


class TableRow(NamedTuple):
    """A label and one cell per data set."""

    label: str
    cells: tuple[str, ...]


def shipped(suite: str) -> dict[str, str]:
    """Data sets of a suite for which a T(1) model ships, with its name."""
    names = {dataset: NAMES[RegressionSpec(suite, dataset, True)] for dataset in DATASETS}
    return {dataset: name for dataset, name in names.items() if name in _pretrained.names()}


def _measured(
    suite: str, region: str, invariant: bool, key: str, joint: bool = False
) -> tuple[str, ...]:
    """Cells of one metric; empty where it was not measured."""
    cells = []
    for dataset in DATASETS:
        name = NAMES.get(RegressionSpec(suite, dataset, invariant))
        metadata = _pretrained.metadata(name) if name in _pretrained.names() else {}
        metrics = metadata.get("metrics", {}).get(region, {})
        metrics = metrics.get("joint", {}) if joint else metrics
        cells.append(log_likelihood(*metrics[key]) if key in metrics else "")
    return tuple(cells)


def _own(suite: str, region: str, label: str, *, regret: bool) -> list[TableRow]:
    """A model's rows by its one-solve route and, where measured, by the joint route."""
    table, invariant = [], LABELS[label]
    for joint, route in ((False, ""), (True, ", joint route")):
        lines = [TableRow(label + route, _measured(suite, region, invariant, "log_prob", joint))]
        if regret:
            cells = _measured(suite, region, invariant, "regret", joint)
            lines.append(TableRow(f"regret of {label}{route}", cells))
        table += [line for line in lines if any(line.cells)]
    return table


def summary() -> Table:
    """Both models of the suite `paper`, in and out of range, in a few rows."""
    lines = []
    for label, invariant in LABELS.items():
        for region in REGIONS:
            cells = _measured("paper", region, invariant, "log_prob")
            lines.append((f"{label}, {region}", *cells))
            if invariant and region == REGIONS[0]:
                regret = _measured("paper", region, True, "regret")
                lines.append((f"regret of {label}, {region}", *regret))
    return Table("Summary: log-likelihood, nats per target", ("", *DATASETS), lines)


def rows(suite: str, region: str) -> list[TableRow]:
    """All rows of one region of one suite; an empty cell was not measured."""
    exact = TableRow("GP, exact", _measured(suite, region, True, "gp"))
    table = [exact] if any(exact.cells) else []
    table += _own(suite, region, "T(1)-GeomNDP", regret=True)
    table += _own(suite, region, "NDP*", regret=False)
    published = PAPER if suite == "paper" else QUOTED
    for label, values in published[region].items():
        cells = ("*" if value is None else log_likelihood(value) for value in values)
        table.append(TableRow(label, tuple(cells)))
    return table


def tables(suite: str) -> list[Table]:
    """One table per region."""
    return [
        Table(
            f"suite {suite}, {region}: log-likelihood, nats per target",
            ("", *DATASETS),
            [(row.label, *row.cells) for row in rows(suite, region)],
        )
        for region in REGIONS
    ]
