r"""Diffusion times for training: stratified over the batch, and small ones for contexts."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._types import Array, Float, PRNGKeyArray, Scalar
from geomndp.noising import AbstractSchedule
from geomndp.solve import AbstractTimeGrid

CELLS = 1024  # of the grid whose linear interpolation maps uniform numbers to times


def stratified(num: int, dtype, *, key: PRNGKeyArray) -> Float[Array, " num"]:
    """Numbers in [0, 1), each uniform, exactly one of them in every cell of width 1 / num.

    The cells are turned together by a random shift, so that no function of the batch is tied to
    a part of the interval.
    """
    jitter_key, shift_key = jr.split(key)
    u = (jnp.arange(num, dtype=dtype) + jr.uniform(jitter_key, (num,), dtype)) / num
    u = u + jr.uniform(shift_key, (), dtype)
    return u - jnp.floor(u)


def times_from_uniform(
    u: Float[Array, " b"], grid: AbstractTimeGrid, schedule: AbstractSchedule, t_min: float
) -> Float[Array, " b"]:
    """Map uniform numbers to times on [t_min, 1] as dense as the points of a solver's grid.

    With `UniformTimeGrid` the times are uniform; with `LogSnrTimeGrid` the logarithm of the
    noise-to-signal ratio is, above a floor.
    """
    knots = grid(schedule, CELLS, t_min, u.dtype)
    cell = jnp.minimum(jnp.floor(u * CELLS), CELLS - 1.0)
    index = cell.astype(jnp.int32)
    left, right = knots[index], knots[index + 1]
    return left + (u * CELLS - cell) * (right - left)


class ContextNoiseLevels(eqx.Module):
    r"""Times of context points: those of noisy observations.

    A share `zero` of the functions has a clean context, all at time zero. In the others the noise
    relative to the limiting variance, $\sigma^2 / a^2 = e^{B(t)} - 1$, is log-uniform between `low`
    and `high`: for a share `shared` one level for the whole context, else one per point. Without
    `high` it reaches the noise at time 1, the largest that amortised conditioning accepts: a level
    that was never drawn is one at which a trained network answers at random.
    """

    zero: float = eqx.field(default=0.5, static=True)
    shared: float = eqx.field(default=0.5, static=True)
    low: float = eqx.field(default=1e-7, static=True)
    high: float | None = eqx.field(default=None, static=True)

    def __check_init__(self):
        _validation.positive(low=self.low)
        if self.high is not None:
            _validation.positive(high=self.high)
        for name, value in (("zero", self.zero), ("shared", self.shared)):
            if not 0 <= value <= 1:
                raise ValueError(f"expected 0 <= {name} <= 1, got {value}")
        if self.high is not None and self.low > self.high:
            raise ValueError(f"expected low <= high, got {self.low} and {self.high}")

    def highest(self, schedule: AbstractSchedule, dtype=None) -> Scalar:
        """The largest noise relative to the limiting variance."""
        if self.high is None:
            return jnp.expm1(schedule.integral(jnp.ones((), dtype)))
        return jnp.asarray(self.high, dtype)

    def __call__(
        self, schedule: AbstractSchedule, shape: tuple[int, int], dtype, *, key: PRNGKeyArray
    ) -> Float[Array, "b n"]:
        """Draw times for `shape` = (functions, points)."""
        kind_key, shared_key, own_key = jr.split(key, 3)
        functions = (shape[0], 1)
        kind = jr.uniform(kind_key, functions, dtype)
        own, shared = jr.uniform(own_key, shape, dtype), jr.uniform(shared_key, functions, dtype)
        is_shared = kind < self.zero + (1 - self.zero) * self.shared
        u = jnp.where(is_shared, jnp.broadcast_to(shared, shape), own)
        ratio = self.low * (self.highest(schedule, dtype) / self.low) ** u
        return jnp.where(kind < self.zero, 0.0, schedule.inverse(jnp.log1p(ratio)))
