"""The paper's 1D regression table: shipped models and exact processes beside published numbers."""

from __future__ import annotations

from geomndp import _model_files
from geomndp.experiments.card_rows import cells, model_rows
from geomndp.experiments.regression1d.experiment import NAMES, REGIONS, RegressionSpec
from geomndp.experiments.regression1d.paper import DATASETS, PAPER, QUOTED
from geomndp.experiments.table import Table, log_likelihood

LABELS = {"T(1)-GeomNDP": True, "NDP*": False}
"""Rows of models: whether they are translation-invariant."""


def shipped(suite: str) -> dict[str, str]:
    """Data sets of a suite for which a T(1) model ships, with its name."""
    names = {dataset: NAMES[RegressionSpec(suite, dataset, True)] for dataset in DATASETS}
    return {dataset: name for dataset, name in names.items() if name in _model_files.names()}


def _names(suite: str, invariant: bool) -> list[str | None]:
    """Model of every data set."""
    return [NAMES.get(RegressionSpec(suite, dataset, invariant)) for dataset in DATASETS]


def summary() -> Table:
    """Both models of the suite `paper`, in and out of range, in a few rows."""
    lines = []
    for label, invariant in LABELS.items():
        for region in REGIONS:
            names = _names("paper", invariant)
            lines.append((f"{label}, {region}", *cells(names, region, "log_prob")))
            if invariant and region == REGIONS[0]:
                regret = cells(names, region, "regret")
                lines.append((f"regret of {label}, {region}", *regret))
    return Table("Summary: log-likelihood, nats per target", ("", *DATASETS), lines)


def rows(suite: str, region: str) -> list[tuple[str, ...]]:
    """All rows of one region of one suite, labels first; an empty cell was not measured."""
    exact = cells(_names(suite, True), region, "gp")
    table: list[tuple[str, ...]] = [("GP, exact", *exact)] if any(exact) else []
    for label, invariant in LABELS.items():
        table += model_rows(label, _names(suite, invariant), region, regret=invariant)
    published = PAPER if suite == "paper" else QUOTED
    for label, values in published[region].items():
        numbers = ("*" if value is None else log_likelihood(value) for value in values)
        table.append((label, *numbers))
    return table


def tables(suite: str) -> list[Table]:
    """One table per region."""
    return [
        Table(
            f"suite {suite}, {region}: log-likelihood, nats per target",
            ("", *DATASETS),
            rows(suite, region),
        )
        for region in REGIONS
    ]
