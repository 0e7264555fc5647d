"""Calibration of a 1D model's posterior samples, beside those of the exact process."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import evaluate
from geomndp.data import Regression1D
from geomndp.evaluate import Calibration, interval_coverage, summarise
from geomndp.model import Model
from geomndp.plot import calibration as draw_calibration, save_figure
from geomndp.samplers import AbstractSampler, Amortised

LEVELS = (0.5, 0.9)
SAMPLES_KEY, EXACT_KEY = 11, 12


def calibration(
    model: Model,
    problem: Regression1D,
    *,
    num: int,
    region: str = "in-range",
    num_samples: int = 128,
    sampler: AbstractSampler | None = None,
    seed: int = 1234,
    bins: int = 20,
    directory: str | PathLike | None = None,
    **run: Any,
) -> dict:
    """PIT histogram, CRPS and coverage of `num_samples` posterior samples on the test functions.

    Where the truth is Gaussian, the same of its own posterior samples, and the CRPS lost to it.
    Pairs are mean and standard error over the functions; everything is JSON-serialisable. `run`
    are `geomndp.evaluate.RunOptions`.
    """
    contexts = problem.contexts[1]
    tasks = problem.tasks(num, region=region, seed=seed, dtype="float32")
    sampler = Amortised() if sampler is None else sampler
    options = {"num_context": contexts, "num_samples": num_samples, **run}
    own = {"directory": directory, "sampler": sampler}
    measured = evaluate.calibration(model, tasks, key=jr.key(SAMPLES_KEY), **options, **own)
    result: dict = {
        "model": _summary(measured, bins),
        "num": num,
        "num_samples": num_samples,
        "seed": seed,
        "region": region,
        "sampler": type(sampler).__name__,
    }
    gp = problem.process.gp
    if gp is not None:
        exact = evaluate.calibration(gp, tasks, key=jr.key(EXACT_KEY), **options)
        result["gp"] = _summary(exact, bins)
        result["crps_regret"] = list(summarise(measured.mean_crps() - exact.mean_crps()))
    return result


def _summary(measured: Calibration, bins: int) -> dict:
    pit = np.asarray(measured.pit)
    counts = np.stack([np.histogram(row, bins, (0, 1))[0] for row in pit]) / (pit.shape[1] / bins)
    summary = {
        "pit": counts.mean(axis=0).tolist(),
        "pit_error": (counts.std(axis=0, ddof=1) / np.sqrt(len(pit))).tolist(),
        "crps": list(summarise(measured.mean_crps())),
    }
    for level in LEVELS:
        inside = jnp.mean(interval_coverage(measured.pit, level), axis=1)
        summary[f"coverage{100 * level:.0f}"] = list(summarise(inside))
    return summary


def calibration_figure(results: dict[str, dict], path: str | PathLike) -> Path:
    """PIT histograms of several results of `calibration`, by title; exact processes in outline."""
    import matplotlib.pyplot as plt

    columns = min(len(results), 5)
    rows = -(-len(results) // columns)
    size = (3 * columns, 2.6 * rows)
    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, sharey=True)
    for ax, (title, result) in zip(axes.flat, results.items(), strict=False):
        draw_calibration(None, density=result["model"]["pit"], title=title, ax=ax)
        if "gp" in result:
            draw_calibration(None, density=result["gp"]["pit"], label="exact", title=title, ax=ax)
    for ax in axes.flat[len(results) :]:
        ax.set_visible(False)
    axes[0, 0].set_ylim(0, 2)
    figure.tight_layout()
    return save_figure(figure, path)
