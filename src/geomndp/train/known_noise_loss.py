"""The denoising loss of values with known noise: at which times, and with which weight.

Of a share of the functions the less noisy values are carried to time zero by the flow of the
present score (`train.known_noise`). Those with a context are then trained at all times, those
without up to the times from which values were carried; all other functions above the time of one of
their values, drawn at random. Points whose own noise is larger than that of the function's time
stay at their own times, where they tell of the others as noisy observations do, or are masked. In a
share of the functions context points that were carried get noise of their own level again: fresh
noise on a clean value is what a sensor measures.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp._types import Array, Batch, Float, PRNGKeyArray
from geomndp.data.context_sampling import ContextNoiseLevels
from geomndp.linalg import zero_masked
from geomndp.noising import AbstractNoising
from geomndp.noising.schedule import AbstractTimeGrid, stratified_uniform, times_from_uniform
from geomndp.score import AbstractScore, NetworkScore
from geomndp.train.known_noise import (
    KnownNoise,
    NoisedValues,
    at_own_times,
    less_noisy,
    lower,
    noise_further,
)

MAX_START = 0.95  # some of the times up to 1 must be left above a function's smallest


class NoisyErrors(NamedTuple):
    """Errors of a batch of functions with known noise."""

    t: Float[Array, " b"]
    """Time of every function."""
    squares: Float[Array, "b n"]
    """Squared residuals times their weights, mean over outputs."""
    counted: Float[Array, "b n"]
    """Points that enter the loss."""


class NoisyBatch(NamedTuple):
    """Functions (b, n) ready to be noised further."""

    values: NoisedValues
    t: Float[Array, " b"]
    """Time of every function."""
    point_t: Float[Array, "b n"]
    """Time of every point, none before that of its value."""
    mask: Float[Array, "b n"]
    """Real points that are seen."""
    counted: Float[Array, "b n"]
    """Points that enter the loss."""


def noisy_errors(
    options: KnownNoise,
    score: NetworkScore,
    noising: AbstractNoising,
    batch: Batch,
    levels: ContextNoiseLevels,
    grid: AbstractTimeGrid,
    t_min: float,
    *,
    key: PRNGKeyArray,
) -> NoisyErrors:
    """Weighted squared residuals of functions whose values have known noise.

    Args:
        options: How such values are used.
        score: The score to train.
        noising: Forward process with white K.
        batch: Functions (b, n) with `noise`.
        levels: Noise of context points beyond their own.
        grid: Where training times are dense.
        t_min: Smallest time.
        key: Random key of times and noise.
    """
    level_key, prepare_key, noise_key = jr.split(key, 3)
    b, n = batch.y.shape[:2]
    context_t = levels(noising.schedule, (b, n), batch.y.dtype, key=level_key)
    settings = (options, score, noising, batch, context_t, grid, t_min)
    noisy = prepare(*settings, key=prepare_key)

    def one(x, y, s, t, mask, key):
        x = zero_masked(x, mask)
        noisier = noise_further(noising, s, t, x, y, mask, key=key)
        error = score.error(noising, t, x, noisier.y0, noisier.perturbed, mask)
        return noisier.weight * jnp.mean(error**2, axis=1)

    values, keys = noisy.values, jr.split(noise_key, len(batch.x))
    arrays = (batch.x, values.y, values.times, noisy.point_t, noisy.mask, keys)
    return NoisyErrors(noisy.t, jax.vmap(one)(*arrays), noisy.counted)


def prepare(
    options: KnownNoise,
    score: AbstractScore,
    noising: AbstractNoising,
    batch: Batch,
    context_t: Float[Array, "b n"],
    grid: AbstractTimeGrid,
    t_min: float,
    *,
    key: PRNGKeyArray,
) -> NoisyBatch:
    """Values at their own times or carried to zero, and the times to which they are noised.

    Args:
        options: How values with known noise are used.
        score: The score, whose flow lowers values; no gradient reaches it.
        noising: Forward process with white K.
        batch: Functions (b, n) with `noise`.
        context_t: Times of context points as drawn, (b, n).
        grid: Where training times are dense.
        t_min: Smallest time.
        key: Random key.
    """
    time_key, point_key, keep_key, context_key = jr.split(key, 4)
    own, targets = at_own_times(noising, batch), batch.mask * (1.0 - batch.context)
    values = _with_lowered(options, score, noising, batch, own)
    b, dtype = len(batch.x), batch.y.dtype
    low, high = _interval(batch, own.times, values.times, targets, key=point_key)
    low = jnp.maximum(low, t_min)
    u = stratified_uniform(b, dtype, key=time_key)
    t = _times_between(noising, grid, u, low, jnp.maximum(high, 2 * low))
    noisy = jr.bernoulli(context_key, options.noisy_context_share, (b, 1))
    context_t = jnp.where(noisy, jnp.maximum(context_t, own.times), context_t)
    wanted = jnp.where(batch.context > 0, context_t, t[:, None])
    noisier = (values.times > wanted) & (targets > 0)
    kept = jr.bernoulli(keep_key, options.kept_share, (b, 1))
    mask = jnp.where(noisier & ~kept, 0.0, batch.mask)
    counted = jnp.where(values.times < wanted, targets, 0.0)
    return NoisyBatch(values, t, jnp.maximum(wanted, values.times), mask, counted)


def _with_lowered(options, score, noising, batch: Batch, own: NoisedValues) -> NoisedValues:
    """Values, those of some functions at time zero."""
    rows = options.lowered_rows(len(batch.x))
    if not len(rows):
        return own

    def one(times, x, y, mask):
        lowered = less_noisy(times, mask)
        settings = (mask, lowered, options.flow_steps)
        y = lower(score, noising, times, zero_masked(x, mask), y, *settings)
        return y, jnp.where(lowered, 0.0, times)

    arrays = (own.times, batch.x, own.y, batch.mask)
    y, times = jax.vmap(one)(*(array[rows] for array in arrays))
    y = own.y.at[rows].set(jax.lax.stop_gradient(y))
    return NoisedValues(y, own.times.at[rows].set(times))


def _interval(batch: Batch, own, times, targets, *, key):
    """Smallest and largest time of every function, (b,) each."""
    carried = times < own
    lowered, alone = jnp.any(carried, axis=1), jnp.sum(batch.context, axis=1) == 0
    smallest = jnp.min(jnp.where(targets > 0, times, 1.0), axis=1)
    low = jnp.where(lowered, smallest, _random_entry(times, targets, key=key))
    largest = jnp.max(jnp.where(carried, own, 0.0), axis=1)
    return low, jnp.where(lowered & alone, largest, 1.0)


def _random_entry(values: Float[Array, "b n"], among, *, key) -> Float[Array, " b"]:
    """One of each function's numbers, among those marked."""
    ranks = jr.uniform(key, values.shape, values.dtype) + among
    return jnp.take_along_axis(values, jnp.argmax(ranks, axis=1)[:, None], axis=1)[:, 0]


def _times_between(noising, grid, u, low, high) -> Float[Array, " b"]:
    """Times between two of each function, the dense end of the grid at the lower."""
    low, high = jnp.minimum(low, MAX_START), jnp.minimum(high, 1.0)

    def one(u, low, high):
        t = times_from_uniform(u[None], grid, noising.schedule, low)[0]
        return low + (high - low) * (t - low) / (1 - low)

    return jax.vmap(one)(u, low, high)
