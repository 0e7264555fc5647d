"""A function of one input given five values, beside the exact posterior."""

from __future__ import annotations

from pathlib import Path

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp._types import Array, Batch, Inputs, PRNGKeyArray
from geomndp.data import regression1d
from geomndp.evaluate import ScoreError, score_error
from geomndp.experiments.demo.report import Number, Section, with_error
from geomndp.gp import GP
from geomndp.model import Model, load
from geomndp.plot import functions_1d, save_figure
from geomndp.samplers import Amortised
from geomndp.score import GaussianScore

MODEL = "regression1d/se"
OBSERVED = (-1.61, -1.13, -0.27, 0.71, 1.47)
NUM_POINTS = 45


def show_line(folder: Path, *, key: PRNGKeyArray, num_samples: int, steps: int) -> Section:
    """Condition the model of squared-exponential functions, draw, compare."""
    gp = regression1d("paper", "se").exact()
    data_key, prior_key, draw_key, error_key = jr.split(key, 4)
    xc = jnp.asarray(OBSERVED, "float32")[:, None]
    x = jnp.linspace(-2, 2, NUM_POINTS, dtype="float32")[:, None]
    yc, (mean, spread), prior_band = _truth(gp, xc, x, data_key)
    model, sampler = load(MODEL), Amortised(steps)
    posterior = model.condition(xc, yc)
    prior = model.sample(x, key=prior_key, num_samples=num_samples, sampler=sampler)
    samples = posterior.sample(x, key=draw_key, num_samples=num_samples, sampler=sampler)
    error = posterior_score_error(model, gp, (xc, yc), x, num=num_samples, key=error_key)
    return Section(
        "A function of one input",
        f"{num_samples} samples of the model {MODEL}, and {num_samples} given the five values "
        "drawn as dots. Its training functions are those of a Gaussian process, whose exact law is "
        "drawn in black: samples should fill the dashed lines.",
        _figure(folder / "line.png", x, prior, samples, (xc, yc), (mean, spread), prior_band),
        [_distance(error), *_moments(*map(np.asarray, (samples[..., 0], mean[:, 0], spread)))],
    )


@eqx.filter_jit
def _truth(gp: GP, xc, x, key: PRNGKeyArray):
    """Values to be observed, and mean and standard deviation given them and before."""
    yc = gp.sample(xc, key=key)
    mean, covariance = gp.condition(xc, yc).mean_and_covariance(x)
    prior_band = gp.mean_at(x), jnp.sqrt(gp.gram(x).diagonal())
    return yc, (mean, jnp.sqrt(jnp.diag(covariance))), prior_band


def posterior_score_error(
    model: Model,
    gp: GP,
    context: tuple[Array, Array],
    x: Inputs,
    *,
    num: int,
    key: PRNGKeyArray,
) -> ScoreError:
    """KL of the model's posterior from the exact one by the integrated error of its score.

    Functions are drawn from the exact posterior, so that there is no other error than theirs.
    """
    draw_key, error_key = jr.split(key)
    tasks = _tasks(gp, *context, x, num, draw_key)
    options = {"mode": "conditional", "batches": 4, "cells": min(16, num)}
    return score_error(model, GaussianScore(gp), tasks, key=error_key, **options)


@eqx.filter_jit
def _tasks(gp: GP, xc, yc, x, num: int, key: PRNGKeyArray) -> Batch:
    """Functions of the exact posterior after their context."""
    y = gp.condition(xc, yc).sample(x, key=key, num_samples=num)
    locations, known = jnp.concatenate([xc, x]), jnp.broadcast_to(yc[None], (num, *yc.shape))
    ones = jnp.ones((num, len(locations)), x.dtype)
    marks = ones * (jnp.arange(len(locations)) < len(xc)).astype(x.dtype)[None]
    inputs = jnp.broadcast_to(locations[None], (num, *locations.shape))
    return Batch(inputs, jnp.concatenate([known, y], axis=1), ones, marks)


def _distance(error: ScoreError) -> Number:
    value = with_error(error.value, error.standard_error, "nats per point", 4)
    return Number("distance (KL) of the posterior from the exact one", value, "0")


def _moments(samples: np.ndarray, mean: np.ndarray, spread: np.ndarray) -> list[Number]:
    """Errors of the samples' mean and spread, beside what so many exact samples would have."""
    s = len(samples)
    off = np.sqrt(np.mean(((samples.mean(axis=0) - mean) / spread) ** 2))
    ratio = np.mean(samples.std(axis=0, ddof=1) / spread)
    return [
        Number(
            "mean of the samples off by", f"{off:.3f} sd", f"{s**-0.5:.3f} sd for exact samples"
        ),
        Number("spread of the samples over the exact one", f"{ratio:.3f}", "1"),
    ]


def _figure(path: Path, x, prior, samples, context, exact, prior_band) -> Path:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 3.4), sharey=True)
    functions_1d(x, prior, exact=prior_band, title="samples of the model", ax=axes[0])
    title = f"given {len(context[0])} values"
    functions_1d(x, samples, context=context, exact=exact, title=title, ax=axes[1])
    axes[1].legend(fontsize=7, loc="upper right")
    return save_figure(figure, path)
