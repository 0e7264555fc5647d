"""Tables of cyclone forecasts: baselines, models and the paper's rows, split by split. No JAX."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from geomndp import _model_files
from geomndp.experiments.cyclones.experiment import MODELS as SPECS
from geomndp.experiments.cyclones.paper import published
from geomndp.experiments.cyclones.rows import LEADS, TASKS, Row, from_json
from geomndp.experiments.table import Table, noise_density_tables

REFERENCE = "linear-Gaussian, local frame"
"""The forecast that a model has to beat."""
MODELS = (
    "GeomNDP on the sphere",
    "GeomNDP, axis-equivariant",
    "NDP in latitude and longitude",
    "GeomNDP, Langevin",
)
"""Labels of models; one on some of the storms says so, as in "GeomNDP, Langevin (6 storms)"."""
_COLUMNS = {
    "sample distance": ("sample_distance", 0),
    "mean error": ("mean_error", 0),
    "energy score": ("energy", 1),
    "90% coverage": ("coverage", 3),
    "log-density": ("log_prob", 1),
}
_JOINT = {"log-density": ("log_prob", 1)}


TITLES = {"storms": "Splits by storm", "seasons": "Newest seasons held out"}


def report(results: dict) -> list[Table]:
    """Tables of both ways to split, with the paper's rows, and how models were trained."""
    candidates = [summary(from_json(results.get("storms", [])) + published())]
    for split, title in TITLES.items():
        rows = from_json(results.get(split, []))
        candidates += tables(rows + published() if split == "storms" else rows, title)
    densities = results.get("noise_densities", {})
    candidates += noise_density_tables(densities, "noise of the fixes, km")
    table = training()
    return [*candidates, table] if table.rows else candidates


_PAPER = "paper: GeomNDP"
SHORT = (
    "GeomNDP on the sphere",
    "NDP in latitude and longitude",
    REFERENCE,
    "great-circle Hermite curve",
    "persistence of the last velocity",
    _PAPER,
)
"""Rows of the summary."""


def summary(rows: Sequence[Row]) -> Table:
    """Both conditional tasks on the first split, the one that models were trained on."""
    lines = []
    for task_name in TASKS[1:]:
        by_label = {
            row.label: row._replace(measures=row.measures[:1]) for row in _of(rows, task_name)
        }
        for name in (name for name in SHORT if name in by_label):
            cells = [_cell(by_label[name], *column) for column in _COLUMNS.values()]
            # The paper's log-densities exceed what t_min allows.
            lines.append((task_name, name, *cells[:-1], "" if name == _PAPER else cells[-1]))
    return Table("Summary, first split by storm", ("task", "", *_COLUMNS), lines)


def tables(rows: Sequence[Row], title: str) -> list[Table]:
    """One table per task, then mean errors by lead time and the gain over the linear forecast.

    Distances and scores in km, log-densities in nats by area; mean and standard deviation over
    splits. For a model the number of splits is that of its trained seeds.
    """
    candidates = [_task(rows, task_name, title) for task_name in TASKS]
    candidates += [_leads(rows, title), *(_gains(rows, task_name, title) for task_name in TASKS)]
    return [table for table in candidates if table.rows]


def training() -> Table:
    """How the shipped models were trained, as their files tell it."""
    names = [name for name in _model_files.names() if name in SPECS]
    keys = {"steps": "steps", "batch_size": "batch", "seed": "seed"}
    keys |= {"training_seconds": "seconds", "step_ms": "ms per step"}
    rows = []
    for name in names:
        notes = _model_files.metadata(name)
        rows.append((name, *(_note(notes.get(key)) for key in keys)))
    return Table("Training", ("model", *keys.values()), rows)


def _note(value) -> str:
    return "" if value is None else f"{value:.1f}" if isinstance(value, float) else str(value)


def _cell(row: Row, name: str, digits: int) -> str:
    summary = row.summary(name)
    if summary is None:
        return ""
    mean, spread = summary
    return f"{mean:.{digits}f}" + (f" ± {spread:.{digits}f}" if len(row.measures) > 1 else "")


def _of(rows: Sequence[Row], task_name: str) -> list[Row]:
    """Rows of a task: those of models after baselines, before those of the paper."""
    subset = [row for row in rows if row.task == task_name]
    return sorted(subset, key=lambda row: (row.label.startswith("paper"), _model(row) in MODELS))


def _model(row: Row) -> str:
    return row.label.partition(" (")[0]


def _task(rows: Sequence[Row], task_name: str, title: str) -> Table:
    columns = _JOINT if task_name == "joint" else _COLUMNS
    lines = []
    for row in _of(rows, task_name):
        splits = "" if row.label.startswith("paper") else str(len(row.measures))
        cells = [_cell(row, *column) for column in columns.values()]
        if any(cells):
            lines.append((row.label, splits, *cells))
    return Table(f"{title}: {task_name}", (task_name, "splits", *columns), lines)


def _leads(rows: Sequence[Row], title: str) -> Table:
    lines = []
    for row in _of(rows, "extrapolation"):
        errors = [m.lead_errors for m in row.measures if m.lead_errors is not None]
        if errors:
            lines.append((row.label, *(f"{mean:.0f}" for mean in np.mean(errors, axis=0))))
    header = ("mean error, km", *(f"+{hours} h" for hours in LEADS))
    return Table(f"{title}: extrapolation by lead time", header, lines)


def _gains(rows: Sequence[Row], task_name: str, title: str) -> Table:
    """Models less the linear-Gaussian forecast on the same splits, the first of all."""
    columns = dict(_JOINT if task_name == "joint" else _COLUMNS)
    columns.pop("90% coverage", None)  # nearer to 0.9 is better, not more
    reference = next((r for r in _of(rows, task_name) if r.label == REFERENCE), None)
    lines = []
    for row in _of(rows, task_name):
        # A part of the storms cannot be compared with all of them.
        if reference is None or row.label not in MODELS:
            continue
        pairs = list(zip(row.measures, reference.measures, strict=False))
        cells = [_difference(pairs, *column) for column in columns.values()]
        lines.append((row.label, str(len(pairs)), *cells))
    header = (task_name, "splits", *columns)
    return Table(f"{title}: {task_name}, less {REFERENCE} on the same splits", header, lines)


def _difference(pairs, name: str, digits: int) -> str:
    values = [(getattr(model, name), getattr(other, name)) for model, other in pairs]
    if not values or any(None in pair for pair in values):
        return ""
    return f"{np.mean([model - other for model, other in values]):+.{max(digits, 1)}f}"
