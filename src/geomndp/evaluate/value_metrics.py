"""Every target value against its own predictive law: mean, PIT and CRPS, exact where known."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

import jax.numpy as jnp
import jax.random as jr
from jax.scipy.stats import norm

from geomndp._types import Array, Inputs, Mask, Outputs, PRNGKeyArray
from geomndp.evaluate.ensemble import crps, pit
from geomndp.marginals import NormalMarginals
from geomndp.predictive import AbstractPredictive

NUM_LEVELS = 100
"""Quantiles from which the CRPS of a law without closed forms is computed."""


class ValueMetrics(NamedTuple):
    """Of every value, shape (n, p).

    Attributes:
        mean: Predictive mean.
        pit: Probability integral transform, the predictive distribution function at the value.
        crps: Continuous ranked probability score, in the units of the value.
        ensemble: Samples, or quantiles at equal steps of probability, shape (s, n, p).
        drawn: Whether the ensemble is one of samples, a scalar.
    """

    mean: Outputs
    pit: Outputs
    crps: Outputs
    ensemble: Array
    drawn: Array


def gaussian_crps(z: Array) -> Array:
    r"""CRPS of N(0, 1): $z (2 \Phi(z) - 1) + 2 \phi(z) - \pi^{-1/2}$ (Gneiting et al. 2005).

    Args:
        z: Standardised values, any shape.

    Returns:
        Scores in units of the standard deviation, the same shape.
    """
    return z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / jnp.sqrt(jnp.pi).astype(z.dtype)


def quantile_crps(quantiles: Array, levels: Array, y: Array) -> Array:
    r"""CRPS as twice the mean quantile loss, $2 \int_0^1 \rho_a(y - q_a) da$.

    Args:
        quantiles: Shape (levels, ...).
        levels: Shape (levels,), the midpoints of equal intervals of [0, 1].
        y: Values, shape (...).

    Returns:
        Scores, shape (...).
    """
    a, d = levels.reshape(-1, *([1] * y.ndim)), y[None] - quantiles
    return 2 * jnp.mean(jnp.maximum(a * d, (a - 1) * d), axis=0)


def value_metrics(
    law: AbstractPredictive,
    x: Inputs,
    y: Outputs,
    *,
    key: PRNGKeyArray,
    num_samples: int,
    mask: Mask | None = None,
    **sampling: Any,
) -> ValueMetrics:
    """Mean, PIT and CRPS of every target value.

    Closed forms for Gaussian laws; of other laws with exact marginals (a Gaussian law seen through
    a transform, a mixture) the CRPS is that of 100 quantiles; else the samples of the law.

    Args:
        law: Predictive law.
        x: Targets, shape (n, d).
        y: Values, shape (n, p).
        key: Random key of samples and of the ranks among them.
        num_samples: Samples, where they are needed.
        mask: 1 for real targets, 0 for padding; given to laws whose `sample` takes it.
        **sampling: Further arguments of the law's `sample`.

    Returns:
        Arrays of shape (n, p), and the ensemble that stands for the law in a mixture.
    """
    if not law.exact_marginals:
        sample_key, rank_key = jr.split(key)
        samples = draw(law, x, mask, key=sample_key, num_samples=num_samples, **sampling)
        ranks = pit(samples, y, key=rank_key)
        mean, score, drawn = jnp.mean(samples, axis=0), crps(samples, y), jnp.ones((), y.dtype)
        return ValueMetrics(mean, ranks, score, samples, drawn)
    exact, drawn = law.marginals(x), jnp.zeros((), y.dtype)
    levels = (jnp.arange(NUM_LEVELS, dtype=y.dtype) + 0.5) / NUM_LEVELS
    quantiles = exact.quantile(levels)
    if isinstance(exact, NormalMarginals):
        z = (y - exact.location) / exact.scale
        score = exact.scale * gaussian_crps(z)
        return ValueMetrics(exact.location, norm.cdf(z), score, quantiles, drawn)
    scores = quantile_crps(quantiles, levels, y)
    return ValueMetrics(exact.mean(), exact.cdf(y), scores, quantiles, drawn)


def draw(law: AbstractPredictive, x: Inputs, mask: Mask | None, **options: Any) -> Array:
    """Samples at padded targets.

    Args:
        law: Predictive law.
        x: Targets, shape (n, d).
        mask: 1 for real targets, 0 for padding, shape (n,); given to laws whose `sample` takes it:
            to others padding is more points of the same function, which change nothing.
        **options: Arguments of the law's `sample`.

    Returns:
        Samples, shape (s, n, p); those of padding mean nothing.
    """
    if mask is not None and "mask" in inspect.signature(law.sample).parameters:
        options = {"mask": mask, **options}
    return law.sample(x, **options)
