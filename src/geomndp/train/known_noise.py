r"""Training on values with known noise: the clean process, learnt from noisy sensors alone.

With white K of variance v a value w with noise variance r is the process at its own diffusion time
s, where $\sigma_s^2 / a_s^2 = r / v$, with $Y_s = m + a_s (w - m)$.

Above s, $Y_t$ is $Y_s$ with further noise $\xi'$ of standard deviation
$\sigma_{t|s} = \sqrt{1 - a_t^2 / a_s^2}$. Both decompositions have the same score, so that
$E[\xi | Y_t] = (\sigma_t / \sigma_{t|s}) E[\xi' | Y_t]$: the known noise $\xi'$, scaled, takes the
place of $\xi$ in the denoising loss (Daras et al. 2024). Its variance grows as t comes near s; the
weight $\sigma_{t|s}^2 / \sigma_t^2$ of its square keeps the loss bounded.

Below s no noise is known. There the score must be consistent with itself: the probability flow of
the present score, held fixed, carries values from their times down to time zero, and what arrives
is denoised like clean data. At the exact score these values have the clean law, so that it is a
fixed point. Of one Gaussian value with variance c an error of the score's variance shrinks by the
factor r / (c + r) in each round: the less noisy half of a function's values is carried.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _validation
from geomndp._types import Array, Batch, Bool, Float, Inputs, Mask, Outputs, PRNGKeyArray
from geomndp.linalg import zero_masked
from geomndp.noising import AbstractNoising, Perturbed
from geomndp.score import AbstractScore

PointTimes = Float[Array, " n"]


class KnownNoise(eqx.Module):
    """How values with known noise are used.

    Attributes:
        lowered_share: Share of the functions whose less noisy half of values the flow carries to
            time zero, so that the score is learnt below their noise.
        flow_steps: Steps of that flow, of four evaluations of the score each, beside a last one.
        kept_share: Share of the functions that keep, at their own times, the targets that are
            noisier than the function's time; in the others such targets are masked.
        noisy_context_share: Share of the functions whose context points are at least as noisy as
            their values came, also where the flow carried these to time zero: clean targets given
            noisy sensors, which is what such a model is asked for.
    """

    lowered_share: float = eqx.field(default=0.5, static=True)
    flow_steps: int = eqx.field(default=2, static=True)
    kept_share: float = eqx.field(default=0.5, static=True)
    noisy_context_share: float = eqx.field(default=0.75, static=True)

    def __check_init__(self):
        _validation.share(lowered_share=self.lowered_share, kept_share=self.kept_share)
        _validation.share(noisy_context_share=self.noisy_context_share)
        _validation.at_least(1, flow_steps=self.flow_steps)

    def lowered_rows(self, num: int) -> np.ndarray:
        """Which functions of a batch are carried to time zero: spread evenly, in pairs."""
        pair = np.arange(num) // 2
        lowered = np.floor((pair + 1) * self.lowered_share) > np.floor(pair * self.lowered_share)
        return np.flatnonzero(lowered)


class NoisedValues(NamedTuple):
    """Functions as noised as their values are, at least: y (b, n, p) at the times (b, n)."""

    y: Float[Array, "b n p"]
    times: Float[Array, "b n"]


def at_own_times(noising: AbstractNoising, batch: Batch) -> NoisedValues:
    """Values with known noise as draws of the noised process.

    Args:
        noising: Forward process.
        batch: Functions with `noise`.

    Raises:
        ValueError: If the limiting kernel is not white, or values lie on a manifold.
    """
    if not noising.flat or not noising.kernel.white:
        raise ValueError("expected a white limiting kernel on flat space for noisy training values")

    def one(x, y, noise, mask):
        x, y, noise = zero_masked(x, mask), zero_masked(y, mask), jnp.where(mask > 0, noise, 0.0)
        integrated = noising.integrated_time_of_noise(x, noise)
        at_s = noising.transition(integrated, x, y, jnp.zeros_like(y))
        return zero_masked(at_s, mask), noising.schedule.inverse(integrated)

    return NoisedValues(*jax.vmap(one)(batch.x, batch.y, batch.noise, batch.mask))


def less_noisy(times: PointTimes, mask: Mask) -> Bool[Array, " n"]:
    """Which real points are at or below the median of the function's times.

    Args:
        times: Time of every point (n,).
        mask: (n,), zero where a row is padding.
    """
    ordered = jnp.sort(jnp.where(mask > 0, times, jnp.inf))
    middle = (jnp.sum(mask > 0, dtype=jnp.int32) - 1) // 2
    return (times <= ordered[jnp.maximum(middle, 0)]) & (mask > 0)


def lower(
    score: AbstractScore,
    noising: AbstractNoising,
    times: PointTimes,
    x: Inputs,
    y: Outputs,
    mask: Mask | None,
    lowered: Bool[Array, " n"],
    steps: int,
) -> Outputs:
    r"""Carry some values of one function from their own times to time zero, by the flow.

    With $\rho = \sigma / a$ and $\tilde y = m + (y - m) / a$ the flow of a point is
    $d\tilde y / d\rho = -u$, given the others at their times. Runge-Kutta steps in $\rho$, dense
    near zero, and from the last but one time the mean of the clean values.

    Args:
        score: The score, which no gradient reaches.
        noising: Forward process with white K.
        times: Time of every point (n,).
        x: Inputs (n, d).
        y: Noised values (n, p).
        mask: (n,), zero where a row is padding.
        lowered: Which points to carry (n,).
        steps: Number of steps of four evaluations each, and one more at the end.

    Returns:
        Values (n, p), clean where they were carried.
    """
    arrays, rest = eqx.partition(score, eqx.is_array)  # functions may be leaves
    score = eqx.combine(jax.lax.stop_gradient(arrays), rest)
    m, rho = noising.mean_at(x), jnp.sqrt(jnp.expm1(noising.schedule.integral(times)))
    speed = jnp.where(lowered, rho, 0.0)[:, None]

    def field(fraction, scaled):
        here = jnp.where(lowered, fraction * rho, rho)
        t = noising.schedule.inverse(jnp.log1p(here**2))
        y = m + noising.alpha(t)[:, None] * (scaled - m)
        return -speed * score(noising, t, x, y, mask)

    def stage(state, row):
        start, slope, total = state
        at, ahead, weight, gap, last = row
        slope = field(at, start + ahead * slope)
        total = total + weight * slope
        end = start + gap * total
        start, total = jnp.where(last > 0, end, start), jnp.where(last > 0, 0.0, total)
        return (start, slope, total), None

    scaled = m + (y - m) / noising.alpha(times)[:, None]
    nothing = jnp.zeros_like(scaled)
    rows = jnp.asarray(_stages(steps), y.dtype)
    (scaled, _, _), _ = jax.lax.scan(stage, (scaled, nothing, nothing), rows)
    return zero_masked(jnp.where(lowered[:, None], scaled, y), mask)


def _stages(steps: int) -> np.ndarray:
    """Evaluations of classical Runge-Kutta steps from 1 to 0, dense near 0, the last one Euler's.

    Rows are: where to evaluate, how far ahead along the slope before, weight of the new slope,
    length of the step, and whether it ends. One by one, so that the score is compiled once.
    """
    ends = np.linspace(1.0, 0.0, steps + 2) ** 3
    rows = []
    for start, end in itertools.pairwise(ends[:-1]):
        gap = end - start
        for ahead, weight in ((0.0, 1 / 6), (0.5, 1 / 3), (0.5, 1 / 3), (1.0, 1 / 6)):
            rows.append((start + ahead * gap, ahead * gap, weight, gap, ahead == 1.0))
    return np.asarray([*rows, (ends[-2], 0.0, 1.0, ends[-1] - ends[-2], 1.0)])


class Noisier(NamedTuple):
    """Further noised values, with what the loss takes for the noise since time zero."""

    perturbed: Perturbed
    y0: Outputs
    """Clean values that belong to that noise."""
    weight: PointTimes
    """Weight of the squared error: zero at points that got no further noise."""


def noise_further(
    noising: AbstractNoising,
    times: PointTimes,
    t: PointTimes,
    x: Inputs,
    y: Outputs,
    mask: Mask | None,
    *,
    key: PRNGKeyArray,
) -> Noisier:
    """Noise values from their own times to later ones.

    Args:
        noising: Forward process with white K.
        times: Times s (n,) of the values.
        t: Times (n,), none before s.
        x: Inputs (n, d).
        y: Values (n, p) at the times s.
        mask: (n,), zero where a row is padding.
        key: Random key.
    """
    gap = jnp.maximum(noising.schedule.integral(t) - noising.schedule.integral(times), 0.0)
    z = zero_masked(jr.normal(key, y.shape, y.dtype), mask)
    root = noising.gram(x, mask).root_mv
    y_t = noising.transition(gap, x, y, zero_masked(root(z), mask))
    added, total = noising.transition_std(gap)[:, None], noising.sigma(t)[:, None]
    scaled = jnp.where(added > 0, z * total / jnp.where(added > 0, added, 1.0), 0.0)
    xi, m = zero_masked(root(scaled), mask), noising.mean_at(x)
    y0 = m + (y_t - m - total * xi) / noising.alpha(t)[:, None]
    weight = jnp.where(total > 0, added**2 / jnp.where(total > 0, total**2, 1.0), 0.0)
    y_t, y0 = zero_masked(y_t, mask), zero_masked(y0, mask)
    return Noisier(Perturbed(y_t, xi, scaled), y0, weight[:, 0])
