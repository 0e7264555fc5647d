r"""Denoising score matching, jointly for all points and conditionally on a context.

A function without context has all its points at one time t. With a context, those points sit at
their own small times, half of them at zero, and the targets at t: the network then learns the
score of the conditional law. The loss is the mean square of the parametrisation's residual over
the targets of a function, then over the functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._deprecated import renamed_arguments
from geomndp._types import Array, Batch, Float, PRNGKeyArray, Scalar
from geomndp.data import SEPARATE, Batching
from geomndp.data.context_sampling import ContextNoiseLevels
from geomndp.geometry import AbstractDivergence
from geomndp.linalg import zero_masked
from geomndp.noising import AbstractNoising
from geomndp.score import NetworkScore
from geomndp.solve import (
    AbstractTimeGrid,
    PowerTimeGrid,
    UniformTimeGrid,
    stratified_uniform,
    times_from_uniform,
)
from geomndp.train.implicit import implicit_errors
from geomndp.train.known_noise import KnownNoise
from geomndp.train.known_noise_loss import noisy_errors
from geomndp.train.packing import apply_packed

Weight = Callable[[AbstractNoising, Float[Array, " b"]], Float[Array, " b"]]


class LikelihoodWeighting(eqx.Module):
    r"""Weight $a_t^2$: with the velocity's loss, that of u.

    With `PowerTimeGrid(2)` times it is close to the likelihood's own weighting
    $\beta_t / \sigma_t^2$ (Song et al. 2021).
    """

    def __call__(self, noising, t):
        return noising.alpha(t) ** 2


class LossInfo(NamedTuple):
    """Loss and diffusion time of every function of the batch, shape (b,)."""

    losses: Float[Array, " b"]
    times: Float[Array, " b"]


@renamed_arguments(eps="t_min", average="reduction", context_times="context_noise_levels")
class DenoisingLoss(eqx.Module):
    """Denoising score matching: how times are drawn and errors weighted.

    Attributes:
        t_min: Smallest diffusion time.
        times: Training times are as dense as the points of this time grid.
        context_noise_levels: Noise of the context points.
        weight: Factor `weight(noising, t)` of the loss of a function at time t, by default 1. With
            the velocity parametrisation, `LogSnrTimeGrid` times and the weight a^2 give the
            likelihood's own weighting, beta / sigma^2 on u.
        reduction: "function" gives every function of a batch the same weight, "point" every target.
        implicit: Divergence with which the score is matched without the noise's own density, as on
            manifolds where that is not known (see `geomndp.train.implicit`).
        known_noise: How values with known noise are used (see `geomndp.train.known_noise`).

    Raises:
        ValueError: If not 0 < t_min < 1, or the reduction is none of the two.

    Example:
        >>> loss = DenoisingLoss(times=PowerTimeGrid(2.0), reduction="point")
    """

    t_min: float = eqx.field(default=5e-4, static=True)
    times: AbstractTimeGrid = UniformTimeGrid()
    context_noise_levels: ContextNoiseLevels = ContextNoiseLevels()
    weight: Weight | None = None
    reduction: str = eqx.field(default="function", static=True)
    implicit: AbstractDivergence | None = None
    known_noise: KnownNoise = KnownNoise()

    def __check_init__(self):
        if not 0 < self.t_min < 1:
            raise ValueError(f"expected 0 < t_min < 1, got {self.t_min}")
        _validation.one_of("reduction", self.reduction, ("function", "point"))

    def draw_times(
        self, noising: AbstractNoising, batch: Batch, *, key: PRNGKeyArray
    ) -> tuple[Float[Array, " b"], Float[Array, "b n"]]:
        """Draw diffusion times, stratified over the batch.

        Args:
            noising: Forward process.
            batch: Functions (b, n).
            key: Random key.

        Returns:
            Time of every function, shape (b,), and of every point, shape (b, n): that of its
            function, but for context points, which have their own.
        """
        time_key, context_key = jr.split(key)
        dtype, (b, n) = batch.y.dtype, batch.mask.shape
        u = stratified_uniform(b, dtype, key=time_key)
        t = times_from_uniform(u, self.times, noising.schedule, self.t_min)
        context_t = self.context_noise_levels(noising.schedule, (b, n), dtype, key=context_key)
        return t, jnp.where(batch.context > 0, context_t, t[:, None])

    def __call__(
        self,
        score: NetworkScore,
        noising: AbstractNoising,
        batch: Batch,
        *,
        key: PRNGKeyArray,
        batching: Batching = SEPARATE,
    ) -> tuple[Scalar, LossInfo]:
        """Loss of a batch.

        Args:
            score: The score to train.
            noising: Forward process.
            batch: Functions (b, n).
            key: Random key of times and noise.
            batching: What the functions have in common, as their generator says.

        Returns:
            The loss, and that of each function with its time.
        """
        if batch.noise is not None:
            return self._of_noisy_values(score, noising, batch, key)
        time_key, noise_key = jr.split(key)
        t, point_t = self.draw_times(noising, batch, key=time_key)
        # Where one point's error stands for all of them, leaving the context out moves the minimum.
        counted = batch.mask
        if score.parametrisation.separable:
            counted = counted * (1.0 - batch.context)
        if self.implicit is None:
            options = {"key": noise_key, "batching": batching}
            squares = squared_errors(score, noising, point_t, batch, **options)
        else:
            rule = self.implicit
            squares = implicit_errors(score, noising, point_t, batch, counted, rule, key=noise_key)
        targets = batch.mask * (1.0 - batch.context)
        return self._reduce(noising, t, squares, counted, targets)

    def _of_noisy_values(self, score, noising, batch, key) -> tuple[Scalar, LossInfo]:
        """Loss of functions whose values have known noise."""
        if self.implicit is not None or not score.parametrisation.separable:
            raise ValueError("expected a loss per point for values with known noise, got another")
        times = (self.context_noise_levels, self.times, self.t_min)
        errors = noisy_errors(self.known_noise, score, noising, batch, *times, key=key)
        return self._reduce(noising, errors.t, errors.squares, errors.counted, errors.counted)

    def _reduce(self, noising, t, squares, counted, targets) -> tuple[Scalar, LossInfo]:
        """Mean over the points that count, then over functions or over all targets of the batch."""
        sums, counts = jnp.sum(counted * squares, axis=1), jnp.sum(counted, axis=1)
        losses = sums / jnp.maximum(counts, 1.0)
        if self.weight is not None:
            losses = losses * self.weight(noising, t)
        info = LossInfo(losses, t)
        if self.reduction == "function":
            return jnp.mean(losses), info
        targets = jnp.sum(targets, axis=1)
        return jnp.sum(losses * targets) / jnp.sum(targets), info


def default_loss(codomain: str) -> DenoisingLoss:
    """Default loss (best in the ablation): times dense near zero, contexts of any accepted noise.

    Args:
        codomain: "real", or "sphere" for values on S^2.

    Returns:
        The loss.
    """
    _validation.one_of("codomain", codomain, ("real", "sphere"))
    if codomain == "sphere":
        return DenoisingLoss(times=PowerTimeGrid(7.0), reduction="point")
    return DenoisingLoss(times=PowerTimeGrid(2.0), weight=LikelihoodWeighting(), reduction="point")


def squared_errors(
    score: NetworkScore,
    noising: AbstractNoising,
    t: Float[Array, "b n"],
    batch: Batch,
    *,
    key: PRNGKeyArray,
    batching: Batching = SEPARATE,
) -> Float[Array, "b n"]:
    """Square of the score's residual at every point, mean over outputs.

    Args:
        score: The score to train.
        noising: The forward process.
        t: Diffusion time of every point.
        batch: Functions (b, n).
        key: Random key of the noise.
        batching: What the functions have in common: packed ones go through the network two at a
            time (see `geomndp.train.packing`); what depends on common inputs alone is computed
            once, and without a mask where the functions are not padded.

    Returns:
        Squared errors, shape (b, n).
    """
    mask = batch.mask
    x, y0 = (jax.vmap(zero_masked)(v, mask) for v in (batch.x, batch.y))
    if batching.common_inputs:
        mask_0 = mask[0] if batching.padded else None
        return _on_common_inputs(score, noising, t, x[0], y0, mask_0, key)

    def perturb(t, x, y0, mask, key):
        noised = noising.perturb(t, x, y0, key=key, mask=mask)
        return noised, score.net_inputs(noising, t, x, noised.y, mask)

    noised, inputs = jax.vmap(perturb)(t, x, y0, mask, jr.split(key, len(t)))
    apply = apply_packed if batching.packed > 1 else _apply_each
    outputs = apply(score.net, *inputs)

    def error(t, x, y0, noised, mask, output):
        return jnp.mean(score.error(noising, t, x, y0, noised, mask, output) ** 2, axis=1)

    return jax.vmap(error)(t, x, y0, noised, mask, outputs)


def _apply_each(net, t, x, y, mask) -> Float[Array, "b n p"]:
    return jax.vmap(net)(t, x, y, mask)


def _on_common_inputs(score, noising, t, x, y0, mask, key) -> Float[Array, "b n"]:
    def one(t, y0, key):
        noised = noising.perturb(t, x, y0, key=key, mask=mask)
        return jnp.mean(score.error(noising, t, x, y0, noised, mask) ** 2, axis=1)

    return jax.vmap(one)(t, y0, jr.split(key, len(t)))
