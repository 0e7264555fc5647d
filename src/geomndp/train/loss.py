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
from geomndp.geometry import AbstractDivergence
from geomndp.linalg import zero_masked
from geomndp.noising import AbstractNoising
from geomndp.score import NetworkScore
from geomndp.solve import AbstractTimeGrid, UniformTimeGrid
from geomndp.train.implicit import implicit_errors
from geomndp.train.packing import in_pairs
from geomndp.train.times import ContextNoiseLevels, stratified, times_from_uniform

Weight = Callable[[AbstractNoising, Float[Array, " b"]], Float[Array, " b"]]


class LossInfo(NamedTuple):
    """Loss and time of every function of the batch."""

    losses: Float[Array, " b"]
    times: Float[Array, " b"]


def squared_errors(
    score: NetworkScore,
    noising: AbstractNoising,
    t: Float[Array, "b n"],
    batch: Batch,
    *,
    key: PRNGKeyArray,
    paired: bool = False,
    shared: bool = False,
    whole: bool = False,
) -> Float[Array, "b n"]:
    """Square of the score's residual at every point, mean over outputs.

    `paired` functions go through the network two at a time (see `geomndp.train.packing`). Functions
    that `shared` their inputs and masks share what a network computes from these alone, and skip
    the mask where they are `whole`.
    """
    mask = batch.mask
    x, y0 = (jax.vmap(zero_masked)(v, mask) for v in (batch.x, batch.y))
    if shared:
        return _on_shared_inputs(score, noising, t, x[0], y0, None if whole else mask[0], key)

    def perturb(t, x, y0, mask, key):
        noised = noising.perturb(t, x, y0, key=key, mask=mask)
        return noised, score.net_inputs(noising, t, x, noised.y, mask)

    noised, inputs = jax.vmap(perturb)(t, x, y0, mask, jr.split(key, len(t)))
    outputs = in_pairs(score.net, *inputs) if paired else jax.vmap(score.net)(*inputs)

    def error(t, x, y0, noised, mask, output):
        return jnp.mean(score.error(noising, t, x, y0, noised, mask, output) ** 2, axis=1)

    return jax.vmap(error)(t, x, y0, noised, mask, outputs)


def _on_shared_inputs(score, noising, t, x, y0, mask, key) -> Float[Array, "b n"]:
    def one(t, y0, key):
        noised = noising.perturb(t, x, y0, key=key, mask=mask)
        return jnp.mean(score.error(noising, t, x, y0, noised, mask) ** 2, axis=1)

    return jax.vmap(one)(t, y0, jr.split(key, len(t)))


@renamed_arguments(eps="t_min")
class DenoisingLoss(eqx.Module):
    """How times are drawn and errors weighted.

    `times` is any of the solvers' grids: times are as dense as its points. `weight(noising, t)`
    multiplies the loss of a function at time t. (With the velocity parametrisation,
    `LogSnrTimeGrid` times and the weight a^2 give the likelihood's own weighting, beta / sigma^2 on
    u.) `reduction` "point" gives every target of the batch the same weight, instead of every
    function. With a rule for divergences as `implicit` the score is matched without the noise's
    own density, as on manifolds where that is not known (see `geomndp.train.implicit`).
    """

    t_min: float = eqx.field(default=5e-4, static=True)
    times: AbstractTimeGrid = UniformTimeGrid()
    context_noise_levels: ContextNoiseLevels = ContextNoiseLevels()
    weight: Weight | None = None
    reduction: str = eqx.field(default="function", static=True)
    implicit: AbstractDivergence | None = None

    def __check_init__(self):
        if not 0 < self.t_min < 1:
            raise ValueError(f"expected 0 < t_min < 1, got {self.t_min}")
        _validation.one_of("reduction", self.reduction, ("function", "point"))

    def draw_times(
        self, noising: AbstractNoising, batch: Batch, *, key: PRNGKeyArray
    ) -> tuple[Float[Array, " b"], Float[Array, "b n"]]:
        """Times of the functions, and from them those of all points."""
        time_key, context_key = jr.split(key)
        dtype, (b, n) = batch.y.dtype, batch.mask.shape
        u = stratified(b, dtype, key=time_key)
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
        paired: bool = False,
        shared: bool = False,
        whole: bool = False,
    ) -> tuple[Scalar, LossInfo]:
        """Loss of a batch, and of each function; `paired`, `shared`, `whole`: see `data`."""
        time_key, noise_key = jr.split(key)
        t, point_t = self.draw_times(noising, batch, key=time_key)
        # Where one point's error stands for all of them, leaving the context out moves the minimum.
        counted = batch.mask
        if score.parametrisation.separable:
            counted = counted * (1.0 - batch.context)
        if self.implicit is None:
            ways = {"paired": paired, "shared": shared, "whole": whole}
            squares = squared_errors(score, noising, point_t, batch, key=noise_key, **ways)
        else:
            rule = self.implicit
            squares = implicit_errors(score, noising, point_t, batch, counted, rule, key=noise_key)
        sums, counts = jnp.sum(counted * squares, axis=1), jnp.sum(counted, axis=1)
        losses = sums / jnp.maximum(counts, 1.0)
        if self.weight is not None:
            losses = losses * self.weight(noising, t)
        if self.reduction == "function":
            return jnp.mean(losses), LossInfo(losses, t)
        targets = jnp.sum(batch.mask * (1.0 - batch.context), axis=1)
        return jnp.sum(losses * targets) / jnp.sum(targets), LossInfo(losses, t)
