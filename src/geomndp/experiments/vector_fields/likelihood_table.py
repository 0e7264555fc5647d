"""The paper's vector-field table: shipped models and exact processes beside published numbers."""

from __future__ import annotations

import math

from geomndp import _model_files
from geomndp.experiments.card_rows import card_metrics, cells, model_rows
from geomndp.experiments.table import Table, log_likelihood, pair
from geomndp.experiments.vector_fields.experiment import MODELS, NAMES, VectorFieldSpec
from geomndp.experiments.vector_fields.paper import DATASETS, PAPER

LABELS = {"E(2)-GeomNDP": True, "NDP*": False}
"""Rows of models: whether they are equivariant."""
REGION = "interpolation"


def shipped() -> list[str]:
    """Names of the vector- and tensor-field models that come with the package."""
    return [name for name in _model_files.names() if name in MODELS]


def columns() -> tuple[str, ...]:
    """The paper's data sets, and others for which an equivariant model ships."""
    fields = [MODELS[name].field for name in shipped() if MODELS[name].equivariant]
    return (*DATASETS, *(field for field in fields if field not in DATASETS))


def tables() -> list[Table]:
    """Log-likelihoods, and what is known of the errors of their computation."""
    return [table for table in (likelihoods(), errors()) if table.rows]


def likelihoods() -> Table:
    """All rows; an empty cell was not measured or not published."""
    rows = []
    for label, key in (("GP, exact", "gp"), ("GP, diagonal", "diagonal_gp")):
        rows.append((label, *(_process(field, key) for field in columns())))
    rows = [row for row in rows if any(row[1:])]
    for label, equivariant in LABELS.items():
        names = [NAMES.get(VectorFieldSpec(field, equivariant)) for field in columns()]
        rows += model_rows(label, names, REGION)
    blank = ("",) * (len(columns()) - len(DATASETS))
    rows += [(label, *map(log_likelihood, values), *blank) for label, values in PAPER.items()]
    return Table("Log-likelihood, nats per point", ("", *columns()), rows)


def summary() -> Table:
    """The paper's data sets: exact process, both models, and what these lose to it."""
    exact, *_ = PAPER.values()
    rows = [("exact GP", *(_process(field, "gp") for field in DATASETS))]
    for label, equivariant in LABELS.items():
        names = [NAMES[VectorFieldSpec(field, equivariant)] for field in DATASETS]
        measured = [card_metrics(name, REGION) for name in names]
        rows.append((label, *(pair(part.get("log_prob"), 3) for part in measured)))
        rows.append((f"regret of {label}", *(pair(part.get("regret")) for part in measured)))
        lost = [gp - value for gp, value in zip(exact, PAPER[f"{label}, paper"], strict=True)]
        rows.append((f"regret of {label}, paper (± 0.01)", *(f"{value:.2f}" for value in lost)))
    return Table("Summary: log-likelihood, nats per point", ("", *DATASETS), rows)


def _process(field: str, key: str) -> str:
    """A number of the exact process, which all models of a data set share."""
    for equivariant in LABELS.values():
        (cell,) = cells([NAMES.get(VectorFieldSpec(field, equivariant))], REGION, key)
        if cell:
            return cell
    return ""


def errors() -> Table:
    """Test fields, probes, errors of solver and of probes, of one field and of the mean."""
    rows = []
    for name in shipped():
        for route in ("conditional", "joint"):
            measured = card_metrics(name, REGION, route)
            if measured:
                probe, num = measured["probe_error"], measured["num"]
                errors = (f"{probe:.5f}", f"{probe / math.sqrt(num):.5f}")
                errors = (*errors, f"{measured['solver_error']:.5f}", pair(measured["regret"]))
                rows.append((name, route, str(num), str(measured["probes"]), *errors))
    header = ("model", "route", "fields", "probes", "probe error of a field", "of the mean")
    header += ("solver error", "regret")
    return Table("Errors of the likelihoods, nats per point", header, rows)
