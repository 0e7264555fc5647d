"""Rows of the cyclone table as data: metrics of one forecast on one task, one entry per split."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from geomndp import _validation
from geomndp.experiments import results

SPLITS = ("storms", "seasons")
TASKS = ("joint", "interpolation", "extrapolation")
LEADS = (24, 48, 90)
"""Hours after the last context point at which the mean error of an extrapolation is given."""


class TrackMetrics(NamedTuple):
    """Means over test storms and targets; None where a forecast has no such thing.

    Distances are kilometres, the log-density is joint over all targets, in nats by area.
    """

    sample_distance: float | None = None
    mean_error: float | None = None
    energy: float | None = None
    coverage: float | None = None
    log_prob: float | None = None
    lead_errors: tuple[float, ...] | None = None


class Row(NamedTuple):
    """TrackMetrics of one forecast on one task, one entry per split."""

    label: str
    task: str
    measures: tuple[TrackMetrics, ...]

    def summary(self, name: str) -> tuple[float, float] | None:
        """Mean over splits of one measure and its standard deviation."""
        values = [getattr(measures, name) for measures in self.measures]
        if not values or None in values:
            return None
        return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def to_json(rows: Iterable[Row]) -> list[dict]:
    """Rows as plain data."""
    return [
        {"label": label, "task": task_name, "measures": [m._asdict() for m in measures]}
        for label, task_name, measures in rows
    ]


def from_json(data: Iterable[dict]) -> list[Row]:
    """Rows from plain data."""
    return [
        Row(item["label"], item["task"], tuple(map(_measures, item["measures"]))) for item in data
    ]


def stored_rows(split: str, path: str | os.PathLike) -> list[Row]:
    """Rows of a file of results, on `storms` or `seasons`."""
    content = results.read(path)
    _validation.one_of("split", split, tuple(name for name in SPLITS if name in content))
    return from_json(content[split])


def add_rows(rows: Iterable[Row], split: str, path: str | os.PathLike) -> list[Row]:
    """Put rows into a file of results, and return all of that split (`storms` or `seasons`).

    A new row takes the place of an old one with the same label and task. One entry per split, in
    the order of `SEEDS`: a model trained for fewer splits has fewer entries.
    """
    content = results.read(path)
    _validation.one_of("split", split, SPLITS)
    by_label = {(row.label, row.task): row for row in from_json(content.get(split, []))}
    by_label |= {(row.label, row.task): row for row in rows}
    results.write(path, {**content, split: to_json(by_label.values())})
    return list(by_label.values())


def _measures(data: dict) -> TrackMetrics:
    leads = data.get("lead_errors")
    return TrackMetrics(**{**data, "lead_errors": None if leads is None else tuple(leads)})
