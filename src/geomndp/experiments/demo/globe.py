"""A divergence-free field over the globe given a few vectors, beside the exact posterior."""

from __future__ import annotations

from pathlib import Path

import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp._types import PRNGKeyArray
from geomndp.data import sphere_problem
from geomndp.experiments.demo.exact_field import law_of, mean_error, truth
from geomndp.experiments.demo.report import Number, Section
from geomndp.model import load
from geomndp.plot import globe, save_figure

MODEL = "sphere-fields/div-free"
CONTEXTS = 20
CENTRE = (60.0, -150.0)
"""Latitude and longitude in the middle of the picture: the pole and the date line are in sight."""


def show_globe(
    folder: Path, *, key: PRNGKeyArray, num_samples: int, steps: int | None, points: int = 200
) -> Section:
    """Condition the model on vectors all over the globe, draw, compare."""
    problem = sphere_problem("div-free", points=points)
    data_key, mark_key, draw_key = jr.split(key, 3)
    order = np.asarray(jr.permutation(mark_key, len(problem.grid)))
    known, rest = order[:CONTEXTS], order[CONTEXTS:]
    grid = problem.grid.astype("float32")
    xc, x = jnp.asarray(grid[known]), jnp.asarray(grid[rest])
    yc, *moments = (np.asarray(part) for part in truth(problem.gp, xc, x, data_key))
    posterior = load(MODEL).condition(xc, yc)
    options = {"num_samples": num_samples, "sampler": posterior.default_sampler(steps)}
    samples = posterior.sample(x, key=draw_key, **options)
    fields = np.zeros((num_samples, len(grid), 2))
    fields[:, known], fields[:, rest] = yc[None], np.asarray(samples)
    law = law_of(len(grid), known, rest, yc, *moments)
    return Section(
        "A field over the globe",
        f"One of {num_samples} samples of the model {MODEL} given the {CONTEXTS} vectors drawn in "
        "red, their mean, and the mean of the exact process, as seen from above the North Pacific. "
        "The model lives on the sphere: neither the pole nor the date line is special to it.",
        _figure(folder / "globe.png", grid, fields, (grid[known], yc), law[0]),
        [mean_error(fields[:, rest], law, rest), _spread(fields[:, rest], law, rest)],
    )


def _spread(samples, law, rest) -> Number:
    exact = np.mean(np.diag(law[1]).reshape(-1, 2)[rest])
    share = np.sqrt(np.mean(np.var(samples, axis=0, ddof=1)) / exact)
    return Number("spread of the samples over the exact one", f"{share:.2f}", "1 for exact samples")


def _figure(path: Path, grid, fields, context, exact) -> Path:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(12, 4.2))
    titles = "one sample", f"mean of {len(fields)} samples", "exact mean"
    style = {"context": context, "centre": CENTRE, "scale": 0.06}
    for ax, title, field in zip(axes, titles, (fields[0], fields, exact), strict=True):
        globe(grid, field, title=title, ax=ax, **style)
    figure.tight_layout()
    return save_figure(figure, path)
