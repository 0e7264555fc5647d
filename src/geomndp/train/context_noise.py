"""Noise levels of context points: those of noisy observations."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._deprecated import renamed_arguments
from geomndp._types import Array, Float, PRNGKeyArray, Scalar
from geomndp.noising import AbstractSchedule


@renamed_arguments(zero="clean_share", shared="common_share")
class ContextNoiseLevels(eqx.Module):
    r"""Times of context points: those of noisy observations.

    A share of the functions has a clean context, all at time zero. In the others the ratio of noise
    to limiting variance, $\sigma^2 / a^2 = e^{B(t)} - 1$, is log-uniform between `low` and `high`.

    Attributes:
        clean_share: Share of the functions whose context is clean.
        common_share: Share of the other functions with one level for the whole context; the rest
            has one per point.
        low: Smallest ratio of noise variance to limiting variance.
        high: Largest such ratio. By default that at time 1, the largest that amortised conditioning
            accepts: at a level that was never drawn, a trained network answers at random.
    """

    clean_share: float = eqx.field(default=0.5, static=True)
    common_share: float = eqx.field(default=0.5, static=True)
    low: float = eqx.field(default=1e-7, static=True)
    high: float | None = eqx.field(default=None, static=True)

    def __check_init__(self):
        _validation.positive(low=self.low)
        if self.high is not None:
            _validation.positive(high=self.high)
        _validation.share(clean_share=self.clean_share, common_share=self.common_share)
        if self.high is not None and self.low > self.high:
            raise ValueError(f"expected low <= high, got {self.low} and {self.high}")

    def highest(self, schedule: AbstractSchedule, dtype=None) -> Scalar:
        """Largest ratio of noise variance to limiting variance.

        Args:
            schedule: Schedule of the noising process.
            dtype: Floating-point type, by default JAX's own.

        Returns:
            The ratio, a scalar.
        """
        if self.high is None:
            return jnp.expm1(schedule.integral(jnp.ones((), dtype)))
        return jnp.asarray(self.high, dtype)

    def __call__(
        self, schedule: AbstractSchedule, shape: tuple[int, int], dtype, *, key: PRNGKeyArray
    ) -> Float[Array, "b n"]:
        """Draw diffusion times of context points.

        Args:
            schedule: Schedule of the noising process.
            shape: Functions and points, (b, n).
            dtype: Floating-point type.
            key: Random key.

        Returns:
            Times of all points, shape (b, n).
        """
        choice_key, common_key, point_key = jr.split(key, 3)
        functions = (shape[0], 1)
        choice = jr.uniform(choice_key, functions, dtype)
        per_point = jr.uniform(point_key, shape, dtype)
        common = jr.uniform(common_key, functions, dtype)
        is_common = choice < self.clean_share + (1 - self.clean_share) * self.common_share
        u = jnp.where(is_common, jnp.broadcast_to(common, shape), per_point)
        ratio = self.low * (self.highest(schedule, dtype) / self.low) ** u
        return jnp.where(choice < self.clean_share, 0.0, schedule.inverse(jnp.log1p(ratio)))
