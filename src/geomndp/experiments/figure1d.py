"""Prior and posterior samples of the shipped 1D models, one row a data set."""

from __future__ import annotations

from pathlib import Path

import jax.numpy as jnp
import jax.random as jr

from geomndp import _shipped
from geomndp.data import regression1d
from geomndp.experiments.table1d import COLUMNS, FOLDERS
from geomndp.model import load
from geomndp.plot import functions_1d, save_figure


def figure1d(path: str | Path, *, suite: str = "paper", seed: int = 0, points: int = 80) -> Path:
    """Data, model samples, and model samples given five observations."""
    import matplotlib.pyplot as plt

    names = [n for n in COLUMNS if f"{FOLDERS[suite]}/{n}" in _shipped.names()]
    if not names:
        raise ValueError(f"expected shipped models of suite {suite!r}, got none")
    figure, axes = plt.subplots(len(names), 3, figsize=(11, 2.4 * len(names)), squeeze=False)
    x = jnp.linspace(-2, 2, points, dtype=jnp.float32)[:, None]
    for row, name in zip(axes, names, strict=True):
        data_key, prior_key, posterior_key = jr.split(jr.key(seed), 3)
        process = regression1d(suite, name).process
        data = jnp.stack([process.sample(x, key=key) for key in jr.split(data_key, 12)])
        model = load(f"{FOLDERS[suite]}/{name}")
        observed = slice(points // 10, None, points // 5)
        context = (x[observed], data[0][observed])
        functions_1d(x, data, title=f"{name}: data", ax=row[0])
        functions_1d(x, model.sample(x, key=prior_key, num_samples=64), title="model", ax=row[1])
        samples = model.condition(*context).sample(x, key=posterior_key, num_samples=64)
        functions_1d(x, samples, context=context, title="model given five points", ax=row[2])
    figure.tight_layout()
    return save_figure(figure, path)
