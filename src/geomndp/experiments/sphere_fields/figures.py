"""Pictures of fields on the sphere: samples of the shipped models on maps of the globe."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _model_files
from geomndp.experiments.base import Unavailable
from geomndp.experiments.sphere_fields.experiment import MODELS
from geomndp.experiments.sphere_fields.training import problem_for
from geomndp.geometry.geodesy import to_latlon
from geomndp.model import Model, load
from geomndp.plot import save_figure
from geomndp.samplers import Amortised


def figures(results: dict, folder: Path, data: str | None = None) -> Iterator[Path]:
    """One map per shipped model: its sample given 25 points of a test field."""
    import matplotlib

    matplotlib.use("Agg")
    names = [name for name in _model_files.names() if name in MODELS]
    if not names:
        raise Unavailable("no model of fields on the sphere comes with the package yet")
    yield field_figure({name: load(name) for name in names}, folder / "sphere-fields.png")


def field_figure(
    models: dict[str, Model], path: str | Path, *, steps: int = 20, seed: int = 0
) -> Path:
    """Posterior samples on maps of longitudes and latitudes, the context in red."""
    import matplotlib.pyplot as plt

    size = (9, 4.2 * len(models))
    figure, axes = plt.subplots(len(models), 1, figsize=size, squeeze=False)
    for ax, (name, model), key in zip(
        axes[:, 0], models.items(), jr.split(jr.key(seed), len(models)), strict=True
    ):
        task = problem_for(name).tasks(1, seed=seed, dtype="float32")
        x, y, known = task.x[0], task.y[0], np.asarray(task.context[0]) > 0
        posterior = model.condition(x[known], y[known])
        drawn = posterior.sample(x[~known], key=key, num_samples=1, sampler=Amortised(steps))[0]
        _draw(ax, x[~known], drawn, "0.3")
        _draw(ax, x[known], y[known], "C3")
        ax.set(title=f"{name}: sample given {int(known.sum())} points", xlim=(-180, 180))
        ax.set(xlabel="longitude", ylabel="latitude", ylim=(-90, 90))
    figure.tight_layout()
    return save_figure(figure, path)


def _draw(ax, x, y, color: str) -> None:
    """Arrows of tangent vectors, or dots whose size grows with a scalar."""
    lat, lon = to_latlon(np.asarray(x))
    if y.shape[1] == 2:
        ax.quiver(lon, lat, *np.asarray(y).T, color=color, width=0.0015, scale=60)
    else:
        sizes = np.asarray(4 * jnp.exp(y[:, 0]))
        ax.scatter(lon, lat, s=sizes, color=color)
