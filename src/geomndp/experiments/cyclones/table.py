"""The cyclone table: rows as data, so that those of models can be added to those of baselines."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _validation
from geomndp.baselines import (
    AbstractBaseline,
    ChartGP,
    GreatCircle,
    Hermite,
    LatLon,
    LinearGaussian,
    Persistence,
    Stereographic,
)
from geomndp.data.ibtracs import SEEDS, Split, cyclones, split_by_season, split_by_storm
from geomndp.experiments import results
from geomndp.experiments.cyclones.protocol import Measures, score_baseline, task

TASKS = ("joint", "interpolation", "extrapolation")
Fit = Callable[..., AbstractBaseline]


class Row(NamedTuple):
    """Measures of one forecast on one task, one entry a split."""

    label: str
    task: str
    measures: tuple[Measures, ...]

    def summary(self, name: str) -> tuple[float, float] | None:
        """Mean over splits of one measure and its standard deviation."""
        values = [getattr(measures, name) for measures in self.measures]
        if not values or None in values:
            return None
        return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


BASELINES: dict[str, tuple[Fit, tuple[str, ...]]] = {
    "persistence of the last velocity": (Persistence.fit, ("extrapolation",)),
    "straight great circle": (GreatCircle.fit, ("interpolation",)),
    "great-circle Hermite curve": (Hermite.fit, ("interpolation",)),
    "the same, velocities of 6 hours": (
        lambda x, y: Hermite.fit(x, y, steps=2),
        ("interpolation",),
    ),
    "linear-Gaussian, local frame": (LinearGaussian.fit, TASKS),
    "linear, scales for every storm": (
        lambda x, y: LinearGaussian.fit(x, y, heavy_tailed=True),
        TASKS,
    ),
    "GP in latitude and longitude": (lambda x, y: ChartGP.fit(x, y, chart=LatLon()), TASKS),
    "GP in stereographic plane": (lambda x, y: ChartGP.fit(x, y, chart=Stereographic()), TASKS),
}

_PAPER = {
    "GeomNDP": (802, (535, 162), (536, 496)),
    "NDP in latitude and longitude": (None, (None, 166), (None, 769)),
    "GP in stereographic plane": (393, (266, 2619), (245, 6587)),
    "GP in latitude and longitude": (None, (None, 6852), (None, 8138)),
}


def published() -> list[Row]:
    """Rows as the paper prints them; its likelihoods of GeomNDP exceed what t_min allows."""
    rows = []
    for name, (joint, *conditional) in _PAPER.items():
        label = f"paper: {name}"
        rows.append(Row(label, "joint", (Measures(log_prob=joint),)))
        for which, (log_prob, distance) in zip(TASKS[1:], conditional, strict=True):
            rows.append(Row(label, which, (Measures(distance, log_prob=log_prob),)))
    return rows


def baseline_rows(
    parts: Sequence[Split],
    *,
    names: Sequence[str] | None = None,
    num_samples: int = 50,
    report: Callable[[str], None] = lambda line: None,
) -> list[Row]:
    """Measure the baselines: fitted to each split's training storms, scored on those held out."""
    found: dict[tuple[str, str], list[Measures]] = {}
    for number, split in enumerate(parts):
        x, y = jnp.asarray(split.train.x), jnp.asarray(split.train.y)
        truth = jnp.asarray(split.test.y)
        for name in BASELINES if names is None else names:
            fit, tasks = BASELINES[name]
            baseline = fit(x, y)
            for which in tasks:
                key = jr.key(number)
                measured = score_baseline(
                    baseline, task(which), x[0], truth, key=key, num_samples=num_samples
                )
                found.setdefault((name, which), []).append(measured)
                report(f"split {number}, {name}, {which}: {measured}")
    return [Row(name, which, tuple(values)) for (name, which), values in found.items()]


def measure_baselines(
    path: str | os.PathLike | None = None,
    *,
    out: str | os.PathLike,
    seeds: Sequence[int] = SEEDS,
    num_samples: int = 50,
    report: Callable[[str], None] = print,
) -> dict[str, list[Row]]:
    """Measure all baselines on the archive at `path` and write their rows to a JSON file.

    `storms`: random splits, one a seed; `seasons`: the newest tenth of all storms held out.
    """
    with jax.enable_x64(True):
        tracks = cyclones(path)
        parts = {
            "storms": [split_by_storm(tracks, seed) for seed in seeds],
            "seasons": [split_by_season(tracks)],
        }
        tables = {
            name: baseline_rows(splits, num_samples=num_samples, report=report)
            for name, splits in parts.items()
        }
    results.write(out, {name: to_json(rows) for name, rows in tables.items()})
    return tables


def to_json(rows: Iterable[Row]) -> list[dict]:
    """Rows as plain data."""
    return [
        {"label": label, "task": which, "measures": [m._asdict() for m in measures]}
        for label, which, measures in rows
    ]


def from_json(data: Iterable[dict]) -> list[Row]:
    """Rows from plain data."""
    return [
        Row(item["label"], item["task"], tuple(map(_measures, item["measures"]))) for item in data
    ]


def measured(split: str = "storms", path: str | os.PathLike | None = None) -> list[Row]:
    """Rows that were measured before, on `storms` or `seasons`; the package's without a path."""
    content = results.read(results.shipped("cyclones") if path is None else path)
    _validation.one_of("split", split, tuple(content))
    return from_json(content[split])


def add_rows(
    rows: Iterable[Row], split: str = "storms", path: str | os.PathLike | None = None
) -> list[Row]:
    """Put rows into a file of results (the package's without a path), and return all of that split.

    A new row takes the place of an old one with the same label and task. One entry a split, in the
    order of `SEEDS`: a model trained for fewer splits has fewer entries.
    """
    path = results.shipped("cyclones") if path is None else path
    content = results.read(path)
    _validation.one_of("split", split, ("storms", "seasons"))
    found = {(row.label, row.task): row for row in from_json(content.get(split, []))}
    found |= {(row.label, row.task): row for row in rows}
    results.write(path, {**content, split: to_json(found.values())})
    return list(found.values())


def _measures(data: dict) -> Measures:
    leads = data.get("lead_errors")
    return Measures(**{**data, "lead_errors": None if leads is None else tuple(leads)})
