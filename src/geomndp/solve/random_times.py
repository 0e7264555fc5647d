"""Random diffusion times: stratified over a batch, as dense as the points of a time grid."""

from __future__ import annotations

import jax.numpy as jnp
import jax.random as jr

from geomndp._types import Array, Float, PRNGKeyArray
from geomndp.noising import AbstractSchedule
from geomndp.solve.time_grids import AbstractTimeGrid

CELLS = 1024  # of the grid whose linear interpolation maps uniform numbers to times


def stratified_uniform(num: int, dtype, *, key: PRNGKeyArray) -> Float[Array, " num"]:
    """Numbers in [0, 1), each uniform, exactly one of them in every cell of width 1 / num.

    All cells are moved by one random shift, so that no function of the batch is tied to a part of
    the interval.

    Args:
        num: How many numbers.
        dtype: Their floating-point type.
        key: Random key.

    Returns:
        The numbers, shape (num,), in the order of their cells.
    """
    jitter_key, shift_key = jr.split(key)
    u = (jnp.arange(num, dtype=dtype) + jr.uniform(jitter_key, (num,), dtype)) / num
    u = u + jr.uniform(shift_key, (), dtype)
    return u - jnp.floor(u)


def times_from_uniform(
    u: Float[Array, " b"], time_grid: AbstractTimeGrid, schedule: AbstractSchedule, t_min: float
) -> Float[Array, " b"]:
    """Map uniform numbers to times on [t_min, 1] as dense as the points of a time grid.

    With `UniformTimeGrid` the times are uniform; with `LogSnrTimeGrid` the logarithm of the
    noise-to-signal ratio is, above a floor.

    Args:
        u: Numbers in [0, 1), shape (b,).
        time_grid: Where times are dense.
        schedule: Schedule of the noising process.
        t_min: Smallest time.

    Returns:
        Diffusion times, shape (b,).
    """
    knots = time_grid(schedule, CELLS, t_min, u.dtype)
    cell = jnp.minimum(jnp.floor(u * CELLS), CELLS - 1.0)
    index = cell.astype(jnp.int32)
    left, right = knots[index], knots[index + 1]
    return left + (u * CELLS - cell) * (right - left)
