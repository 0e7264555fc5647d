"""Prior and posterior samples of the shipped 1D models, one row per data set."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import jax.numpy as jnp
import jax.random as jr

from geomndp.data import SyntheticProcess, regression1d
from geomndp.experiments.regression1d.calibration import calibration_figure
from geomndp.experiments.regression1d.experiment import SUITES
from geomndp.experiments.regression1d.likelihood_table import shipped
from geomndp.gp import AbstractGP
from geomndp.model import Model, load
from geomndp.plot import functions_1d, save_figure


def figures(results: dict, folder: Path, data: str | None = None) -> Iterator[Path]:
    """Calibration and training curves where they were measured, then samples of both suites."""
    import matplotlib

    matplotlib.use("Agg")
    histograms = {
        f"{name.partition('/')[2]}, {region}": metrics
        for name, regions in results.get("calibration", {}).items()
        for region, metrics in regions.items()
    }
    if histograms:
        yield calibration_figure(histograms, folder / "regression1d-calibration.png")
    if results.get("curve"):
        yield curve_figure(results["curve"], folder / "regression1d-curve.png")
    for suite in SUITES:
        if shipped(suite):
            yield samples_figure(folder / f"regression1d-{suite}.png", suite=suite)


def samples_figure(
    path: str | Path, *, suite: str = "paper", seed: int = 0, points: int = 80
) -> Path:
    """Data, model samples, and model samples given five observations."""
    import matplotlib.pyplot as plt

    names = shipped(suite)
    if not names:
        raise ValueError(f"expected shipped models of suite {suite!r}, got none")
    figure, axes = plt.subplots(len(names), 3, figsize=(11, 2.4 * len(names)), squeeze=False)
    x = jnp.linspace(-2, 2, points, dtype=jnp.float32)[:, None]
    for row, name, key in zip(axes, names, jr.split(jr.key(seed), len(names)), strict=True):
        model = load(names[name])
        _draw_row(row, name, model, regression1d(suite, name).process, x, key)
    figure.tight_layout()
    return save_figure(figure, path)


def _draw_row(axes, name: str, model: Model, process: SyntheticProcess, x, key) -> None:
    data_key, prior_key, posterior_key = jr.split(key, 3)
    data = jnp.stack([process.sample(x, key=key) for key in jr.split(data_key, 12)])
    observed = slice(len(x) // 10, None, len(x) // 5)
    context = (x[observed], data[0][observed])
    prior, posterior = None, None
    if process.gp is not None:
        prior, posterior = (_band(gp, x) for gp in (process.gp, process.gp.condition(*context)))
    functions_1d(x, data, exact=prior, title=f"{name}: data", ax=axes[0])
    drawn = model.sample(x, key=prior_key, num_samples=64)
    functions_1d(x, drawn, exact=prior, title="model", ax=axes[1])
    drawn = model.condition(*context).sample(x, key=posterior_key, num_samples=64)
    title = "model given five points"
    functions_1d(x, drawn, context=context, exact=posterior, title=title, ax=axes[2])


def _band(gp: AbstractGP, x):
    return gp.mean_at(x), jnp.sqrt(gp.gram(x).diagonal())


def curve_figure(curves: dict[str, list[dict]], path: str | Path) -> Path:
    """Regret and score errors against training steps, one panel per model."""
    import matplotlib.pyplot as plt

    size = (4 * len(curves), 3.2)
    figure, axes = plt.subplots(1, len(curves), figsize=size, squeeze=False, sharey=True)
    names = {
        "regret": "regret",
        "gap_conditional": "score error",
        "gap_joint": "score error, joint",
    }
    for ax, (title, points) in zip(axes[0], curves.items(), strict=True):
        for key, label in names.items():
            subset = [(p["steps"], *p[key]) for p in points if key in p]
            if subset:
                steps, means, errors = zip(*subset, strict=True)
                ax.errorbar(steps, means, errors, marker="o", ms=3, capsize=2, label=label)
        ax.set(title=title, xlabel="steps", xscale="log", yscale="log")
        ax.set_xticks([point["steps"] for point in points])
        ax.xaxis.set_major_formatter(lambda steps, _: f"{steps / 1000:.0f}k")
        ax.minorticks_off()
        ax.set_yticks([0.002, 0.005, 0.01, 0.02], labels=["0.002", "0.005", "0.01", "0.02"])
        ax.grid(alpha=0.3)
    axes[0, 0].set_ylabel("nats per target")
    axes[0, 0].legend(fontsize=7)
    figure.tight_layout()
    return save_figure(figure, path)
