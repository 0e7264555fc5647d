r"""Denoising score matching, jointly for all points and conditionally on a context.

A function without context has all its points at one time t. With a context, those points sit at
their own small times, half of them at zero, and the targets at t: the network then learns the
score of the conditional law. The loss is the mean square of the parametrisation's residual over
the targets of a function, then over the functions.
"""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._deprecated import renamed_arguments
from geomndp._types import Array, Batch, Float, Outputs, PerPoint, PRNGKeyArray, Scalar
from geomndp.data import SEPARATE, Batching
from geomndp.data.context_sampling import ContextNoiseLevels
from geomndp.geometry import AbstractDivergence
from geomndp.linalg import row_mask, zero_masked
from geomndp.noising import AbstractNoising
from geomndp.score import NetworkScore
from geomndp.solve import (
    AbstractTimeGrid,
    UniformTimeGrid,
    stratified_uniform,
    times_from_uniform,
)
from geomndp.train.abstract_loss import AbstractLoss, LossInfo
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


@renamed_arguments(eps="t_min", average="reduction", context_times="context_noise_levels")
class DenoisingLoss(AbstractLoss):
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
    ) -> tuple[Float[Array, " b"], Float[Array, "b n *g"]]:
        """Draw diffusion times, stratified over the batch.

        Args:
            noising: Forward process.
            batch: Functions (b, n).
            key: Random key.

        Returns:
            Time of every function, shape (b,), and of every point, of the mask's shape (b, n) or
            (b, n, g): that of its function, but for context points, which have their own.
        """
        time_key, context_key = jr.split(key)
        dtype, shape = batch.y.dtype, batch.mask.shape
        u = stratified_uniform(shape[0], dtype, key=time_key)
        t = times_from_uniform(u, self.times, noising.schedule, self.t_min)
        context_t = self.context_noise_levels(noising.schedule, shape, dtype, key=context_key)
        return t, jnp.where(batch.context > 0, context_t, t.reshape(-1, *(1,) * (len(shape) - 1)))

    def __call__(
        self,
        score: NetworkScore,
        noising: AbstractNoising,
        batch: Batch,
        *,
        key: PRNGKeyArray,
        batching: Batching = SEPARATE,
    ) -> tuple[Scalar, LossInfo]:
        """Loss of a batch and, for every function, its loss and time: see `AbstractLoss`."""
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
            _validation.shape("mask", batch.mask, batch.x.shape[:2])
            squares = implicit_errors(score, noising, point_t, batch, counted, rule, key=noise_key)
        targets = batch.mask * (1.0 - batch.context)
        return self._reduce(noising, t, squares, counted, targets)

    def _of_noisy_values(self, score, noising, batch, key) -> tuple[Scalar, LossInfo]:
        """Loss of functions whose values have known noise."""
        if self.implicit is not None or not score.parametrisation.separable:
            raise ValueError("expected a loss per point for values with known noise, got another")
        _validation.shape("mask of values with known noise", batch.mask, batch.x.shape[:2])
        times = (self.context_noise_levels, self.times, self.t_min)
        errors = noisy_errors(self.known_noise, score, noising, batch, *times, key=key)
        return self._reduce(noising, errors.t, errors.squares, errors.counted, errors.counted)

    def _reduce(self, noising, t, squares, counted, targets) -> tuple[Scalar, LossInfo]:
        """Mean over the points that count, then over functions or over all targets of the batch."""
        sums, counts = per_function(counted * squares), per_function(counted)
        losses = sums / jnp.maximum(counts, 1.0)
        if self.weight is not None:
            losses = losses * self.weight(noising, t)
        info = LossInfo(losses, t)
        if self.reduction == "function":
            return jnp.mean(losses), info
        return over_targets(losses, per_function(targets)), info


def per_function(values: Float[Array, "b n *g"]) -> Float[Array, " b"]:
    """Sums over the points, and groups of outputs, of every function."""
    return jnp.sum(values, axis=tuple(range(1, values.ndim)))


def over_targets(losses: Float[Array, " b"], counts: Float[Array, " b"]) -> Scalar:
    """Mean over the targets of all functions, each of which counts by their number.

    Args:
        losses: Loss of every function, a mean over its targets.
        counts: Numbers of its targets; functions without any do not count.
    """
    return jnp.sum(losses * counts) / jnp.maximum(jnp.sum(counts), 1.0)


def squared_errors(
    score: NetworkScore,
    noising: AbstractNoising,
    t: Float[Array, "b n *g"],
    batch: Batch,
    *,
    key: PRNGKeyArray,
    batching: Batching = SEPARATE,
) -> Float[Array, "b n *g"]:
    """Square of the score's residual at every point, mean over outputs, or over those of a group.

    Missing values enter neither the network nor the loss.

    Args:
        score: The score to train.
        noising: The forward process.
        t: Diffusion time of every point, (b, n), or (b, n, g) as the mask.
        batch: Functions (b, n).
        key: Random key of the noise.
        batching: What the functions have in common: packed ones go through the network two at a
            time (see `geomndp.train.packing`); what depends on common inputs alone is computed
            once, and without a mask where the functions are not padded.

    Returns:
        Squared errors, shape (b, n) or (b, n, g).
    """
    mask = batch.mask
    x = jax.vmap(lambda x, mask: zero_masked(x, row_mask(mask)))(batch.x, mask)
    y0 = jax.vmap(zero_masked)(batch.y, mask)
    if batching.common_inputs:
        mask_0 = mask[0] if batching.padded else None
        return _on_common_inputs(score, noising, t, x[0], y0, mask_0, key)

    def perturb(t, x, y0, mask, key):
        noised = noising.perturb(t, x, y0, key=key, mask=mask)
        return noised, score.net_inputs(noising, t, x, noised.y, mask)

    noised, inputs = jax.vmap(perturb)(t, x, y0, mask, jr.split(key, len(t)))
    apply = apply_packed if batching.packed > 1 else _apply_each
    outputs = apply(score.net, *inputs)

    def error(t, x, y0, noised, mask, output, values):
        errors = score.error(noising, t, x, y0, noised, mask, output, values)
        return mean_square(errors, t)

    return jax.vmap(error)(t, x, y0, noised, mask, outputs, inputs[2])


def _apply_each(net, t, x, y, mask) -> Float[Array, "b n p"]:
    return jax.vmap(net)(t, x, y, mask)


def mean_square(error: Outputs, t: PerPoint) -> PerPoint:
    """Mean square over the outputs of a point, or of every group that has a time."""
    if t.ndim == 1:
        return jnp.mean(error**2, axis=1)
    return jnp.mean(error.reshape(*t.shape, -1) ** 2, axis=2)


def _on_common_inputs(score, noising, t, x, y0, mask, key) -> Float[Array, "b n *g"]:
    def one(t, y0, key):
        noised = noising.perturb(t, x, y0, key=key, mask=mask)
        return mean_square(score.error(noising, t, x, y0, noised, mask), t)

    return jax.vmap(one)(t, y0, jr.split(key, len(t)))
