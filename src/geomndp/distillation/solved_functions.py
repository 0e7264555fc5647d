"""Functions whose flow by the teacher is known, one or two of them in a row of points."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp

from geomndp._types import Array, Float, Inputs, Mask, PerPoint
from geomndp.data import Batching
from geomndp.distillation.noised_functions import NoisedFunctions
from geomndp.distillation.trajectory import Trajectory, teacher_trajectory
from geomndp.linalg import DiagonalGram
from geomndp.noising import AbstractNoising
from geomndp.score import AbstractScore, NetworkScore
from geomndp.train.packing import pack_rows


class SolvedFunctions(eqx.Module):
    """Rows (r, m) of points with the teacher's flow from time one to t_min.

    Attributes:
        t: Times (r, m), or (r, m, g) per group of outputs; of a context point its own.
        x: Inputs (r, m, d).
        mask: (r, m) or (r, m, g): the number of the function in its row, from 1; zero where a
            value is padding or missing.
        free: 1 for the targets, of the mask's shape.
        trajectory: Values of all points along the flow; every leaf has the axis r first.
        per_row: Functions per row.
    """

    t: Float[Array, "r m *g"]
    x: Float[Array, "r m d"]
    mask: Float[Array, "r m *g"]
    free: Float[Array, "r m *g"]
    trajectory: Trajectory
    per_row: int = eqx.field(static=True)

    def sums(self, values: Float[Array, "r m *g"]) -> Float[Array, " b"]:
        """Sums over the points, and groups of outputs, of every function.

        Args:
            values: A number of every point.
        """
        axes = tuple(range(1, values.ndim))
        numbers = [self.mask == 1.0 + i for i in range(self.per_row)]
        sums = [jnp.sum(jnp.where(of, values, 0.0), axis=axes) for of in numbers]
        return jnp.stack(sums, axis=1).reshape(-1)

    def toward(self, t: Float[Array, " b"]) -> Float[Array, "r m *g"]:
        """Times of all points with the targets at their function's time; contexts keep theirs.

        Args:
            t: Time of every function.
        """
        of_row = t.reshape(len(self.t), self.per_row)
        index = jnp.maximum(self.mask.astype(jnp.int32) - 1, 0)
        own = jnp.take_along_axis(of_row, index.reshape(len(index), -1), axis=1)
        return jnp.where(self.free > 0, own.reshape(index.shape), self.t)


def solve_functions(
    teacher: AbstractScore,
    noising: AbstractNoising,
    noised: NoisedFunctions,
    angles: Float[Array, " k"],
    batching: Batching,
) -> SolvedFunctions:
    """Solve the teacher's flow of noised functions.

    Args:
        teacher: The trained score.
        noising: Forward process.
        noised: Functions whose targets are at time one.
        angles: Angles (k,) of the nodes, decreasing from that of time one.
        batching: What the functions have in common: packed ones share rows, and what depends on
            common inputs alone is computed once.

    Returns:
        The functions; their order is kept.
    """
    t, x, y, mask, free = noised.t, noised.x, noised.y, noised.mask, noised.free
    per_row = 2 if batching.packed > 1 and packs(noising, teacher, x[0]) else 1
    if per_row == 2:
        t, x, y, free, mask = pack_rows((t, x, y, free), mask)

    def one(t: PerPoint, x: Inputs, y: Array, mask: Mask | None, free: PerPoint) -> Trajectory:
        return teacher_trajectory(teacher, noising, angles, t, x, y, mask, free)

    if batching.common_inputs:
        shared = mask[0] if batching.padded else None
        trajectory = jax.vmap(lambda t, y, free: one(t, x[0], y, shared, free))(t, y, free)
    else:
        trajectory = jax.vmap(one)(t, x, y, mask, free)
    return SolvedFunctions(t, x, mask, free, trajectory, per_row)


def packs(noising: AbstractNoising, score: AbstractScore, x: Inputs) -> bool:
    """Whether two functions may be one row: noise and score see no pair of points but the net's.

    Args:
        noising: Forward process.
        score: The teacher.
        x: Inputs of a function.
    """
    independent = isinstance(noising.gram(x), DiagonalGram)
    return independent and isinstance(score, NetworkScore) and score.base is None
