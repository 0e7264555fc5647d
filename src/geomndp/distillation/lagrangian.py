r"""Lagrangian distillation: a student's steps follow the teacher's velocity.

With $X(\varphi \to \psi; Y)$ the student's step from noised data Y and V the teacher's velocity by
the angle, the loss is the mean square of $\partial X / \partial \psi - V(X, \psi)$, which is zero
for the exact flow map alone (Boffi, Albergo and Vanden-Eijnden 2024, "Flow map matching"). The
derivative is one forward-mode product. Contexts stay at their own times, as in training.
"""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp._types import Array, Batch, Float, PerPoint, PRNGKeyArray, Scalar
from geomndp.data import SEPARATE, Batching
from geomndp.data.context_sampling import ContextNoiseLevels
from geomndp.distillation.noised_functions import NoisedFunctions, noised_functions
from geomndp.distillation.time_pairs import TimePairs
from geomndp.linalg import per_point, zero_masked
from geomndp.noising import AbstractNoising
from geomndp.score import AbstractScore, flow_velocity, time_per_angle
from geomndp.train.abstract_loss import AbstractLoss, LossInfo
from geomndp.train.loss import mean_square, over_targets, per_function

PairWeight = Callable[[AbstractNoising, Float[Array, " b"], Float[Array, " b"]], Float[Array, " b"]]


class LagrangianLoss(AbstractLoss):
    """Mean square difference of a student's derivative and the teacher's velocity.

    Attributes:
        teacher: The trained score.
        t_min: Smallest diffusion time.
        times: How times and target times are drawn.
        context_noise_levels: Noise of the context points.
        weight: Factor `weight(noising, t, s)` of the loss of a function, by default 1.
        through_teacher: Whether the gradient goes through the teacher's velocity at X too, at more
            cost per step; without, the velocity is a fixed target.

    Example:
        >>> loss = LagrangianLoss(model.score, model.t_min)  # doctest: +SKIP
    """

    teacher: AbstractScore
    t_min: float = eqx.field(default=5e-4, static=True)
    times: TimePairs = TimePairs()
    context_noise_levels: ContextNoiseLevels = ContextNoiseLevels()
    weight: PairWeight | None = None
    through_teacher: bool = eqx.field(default=False, static=True)

    def __check_init__(self):
        if not 0 < self.t_min < 1:
            raise ValueError(f"expected 0 < t_min < 1, got {self.t_min}")

    def __call__(
        self,
        score: AbstractScore,
        noising: AbstractNoising,
        batch: Batch,
        *,
        key: PRNGKeyArray,
        batching: Batching = SEPARATE,
    ) -> tuple[Scalar, LossInfo]:
        """Loss of a batch and, for every function, its loss and target time: see `AbstractLoss`.

        Raises:
            ValueError: If the values have known noise.
        """
        time_key, noise_key = jr.split(key)
        t, s = self.times(noising, len(batch.x), self.t_min, batch.y.dtype, key=time_key)
        noised = noised_functions(noising, batch, t, self.context_noise_levels, key=noise_key)
        squares = self._squares(score, noising, noised, noised.toward(s), batching)
        counts = per_function(noised.free)
        losses = per_function(noised.free * squares) / jnp.maximum(counts, 1.0)
        if self.weight is not None:
            losses = losses * self.weight(noising, t, s)
        return over_targets(losses, counts), LossInfo(losses, s)

    def _squares(
        self,
        score: AbstractScore,
        noising: AbstractNoising,
        noised: NoisedFunctions,
        s: Float[Array, "b n *g"],
        batching: Batching,
    ) -> Float[Array, "b n *g"]:
        """Squared error at every point; what common inputs determine is computed once."""

        def one(t, s, y, free, x, mask) -> PerPoint:
            return self._square(score, noising, (t, s, x, y, mask), free)

        if not batching.common_inputs:
            return jax.vmap(one)(noised.t, s, noised.y, noised.free, noised.x, noised.mask)
        mask = noised.mask[0] if batching.padded else None

        def on_common(t, s, y, free) -> PerPoint:
            return one(t, s, y, free, noised.x[0], mask)

        return jax.vmap(on_common)(noised.t, s, noised.y, noised.free)

    def _square(self, score: AbstractScore, noising: AbstractNoising, points, free) -> PerPoint:
        """Squared error of one function, mean over outputs, or over those of a group."""
        t, s, x, y, mask = points
        rate = time_per_angle(noising, jnp.where(free > 0, s, 1.0))
        tangent = jnp.where(free > 0, rate, 0.0)
        values, derivative = jax.jvp(
            lambda s: score.flow_map(noising, t, s, x, y, mask), (s,), (tangent,)
        )
        at = values if self.through_teacher else jax.lax.stop_gradient(values)
        u = self.teacher(noising, s, x, at, mask)
        velocity = flow_velocity(noising, per_point(s, len(x)), x, at, u)
        scale = jnp.sqrt(noising.gram(x, mask).diagonal())
        return mean_square(zero_masked((derivative - velocity) / scale, mask), t)
