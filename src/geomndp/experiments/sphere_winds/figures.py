"""Winds of a validation time from 200 stations: a map of the mean of samples, and of one sample."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp.data.winds import VARIABLE
from geomndp.experiments.base import Unavailable
from geomndp.experiments.sphere_fields.winds import validation_tasks
from geomndp.experiments.sphere_winds.climatology import seasonal_anomalies
from geomndp.experiments.sphere_winds.experiment import MODELS
from geomndp.model import Model, load
from geomndp.plot import field_map, save_figure

NUM_SAMPLES = 8


def figures(results: dict, folder: Path, data: str | None = None) -> Iterable[Path]:
    """Draw the maps of the shipped model.

    Args:
        results: Stored results.
        folder: Where figures go.
        data: Folder of the winds; by default `weather` in $GEOMNDP_DATA.

    Raises:
        Unavailable: Without data.
    """
    import matplotlib

    matplotlib.use("Agg")
    if data is None and not os.environ.get(VARIABLE):
        raise Unavailable(f"the figure of winds needs ${VARIABLE} or --data")
    yield wind_figure(load(MODELS[1]), folder / "sphere-winds.png", data)


def wind_figure(
    model: Model, path: str | Path, data: str | None = None, *, samples: int = NUM_SAMPLES
) -> Path:
    """Mean of samples, one sample and what was analysed, given the stations in red; anomalies."""
    import matplotlib.pyplot as plt

    winds = seasonal_anomalies(data)
    task = validation_tasks(winds)[0]
    x, y = winds.x.astype(np.float32), winds.wind[task.time].astype(np.float32)
    known, rest = task.stations, task.targets
    posterior = model.condition(jnp.asarray(x[known]), jnp.asarray(y[known]))
    drawn = posterior.sample(jnp.asarray(x[rest]), key=jr.key(0), num_samples=samples)
    figure, axes = plt.subplots(3, 1, figsize=(8, 13))
    style = {"context": (x[known], y[known]), "scale": 0.8}
    panels = {f"mean of {samples} samples": drawn, "one sample": drawn[0], "analysis": y[rest]}
    for ax, (title, field) in zip(axes, panels.items(), strict=True):
        field_map(x[rest], np.asarray(field), title=title, ax=ax, **style)
    figure.tight_layout()
    return save_figure(figure, path)
