r"""Trajectory distillation: a student's steps lead to where the teacher's flow leads.

The teacher's flow is solved once from noised data at time one to t_min, and every pair of angles on
it is a training pair: the loss is the mean square of $X(\varphi \to \psi; Y_\varphi) - Y_\psi$
relative to the noise at the target, as errors count in a density. No derivative of the student by
the target time is needed, and what depends on the inputs alone is computed once for all pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._types import Array, Batch, Float, Mask, Outputs, PerPoint, PRNGKeyArray, Scalar
from geomndp.data import SEPARATE, Batching
from geomndp.data.context_sampling import ContextNoiseLevels
from geomndp.distillation.call_pairs import CallPairs
from geomndp.distillation.noised_functions import NoisedFunctions, noised_functions
from geomndp.distillation.trajectory import teacher_trajectory
from geomndp.linalg import DiagonalGram, zero_masked
from geomndp.noising import AbstractNoising
from geomndp.score import AbstractScore, flow_angle, flow_map_grid
from geomndp.train.abstract_loss import AbstractLoss, LossInfo
from geomndp.train.loss import mean_square, per_function
from geomndp.train.packing import pack, unpack

FLOORS = {True: 1e-3, False: 1e-5}
"""Smallest variance of data in flat space, over the limiting one, and on manifolds."""
SOLVER_STEPS = {True: 5, False: 12}
"""In flat space and on manifolds: errors of a tenth of the data's noise, of 7 km for tracks."""


class FlowRow(NamedTuple):
    """One function, or two that are packed: times (k, n) of its k pairs, and its points."""

    pairs: tuple[Float[Array, "k n *g"], Float[Array, "k n *g"]]
    t: PerPoint
    y: Outputs
    free: PerPoint
    x: Float[Array, "n d"]
    mask: Mask | None


class TrajectoryLoss(AbstractLoss):
    r"""Mean square difference of a student's steps and the teacher's flow.

    Of a function and a pair of times it is $\sqrt{q + c^2} - c$ with q the mean over the targets of
    the squared error, in units of the limiting standard deviation, over $\sigma_s^2$ + `floor` at
    the target time s: long steps, whose errors are large, do not drown short ones.

    Attributes:
        teacher: The trained score.
        t_min: Smallest diffusion time.
        pairs: How pairs of times are drawn.
        num_pairs: Pairs per function and step.
        solver_steps: Steps of RK4 from time one to t_min, four evaluations of the teacher each; by
            default 5, on a manifold 12.
        floor: Variance that stands for the smallest of the data; by default 1e-3 of the limiting
            one, on a manifold 1e-5 (20 km on the Earth).
        smoothing: The number c above which errors count by their size, not by their square.
        context_noise_levels: Noise of the context points.

    Raises:
        ValueError: If a number is not positive, or t_min not between 0 and 1.

    Example:
        >>> loss = TrajectoryLoss(model.score, model.t_min)  # doctest: +SKIP
    """

    teacher: AbstractScore
    t_min: float = eqx.field(default=5e-4, static=True)
    pairs: CallPairs = CallPairs()
    num_pairs: int = eqx.field(default=8, static=True)
    solver_steps: int | None = eqx.field(default=None, static=True)
    floor: float | None = eqx.field(default=None, static=True)
    smoothing: float = eqx.field(default=0.1, static=True)
    context_noise_levels: ContextNoiseLevels = ContextNoiseLevels()

    def __check_init__(self):
        _validation.at_least(1, num_pairs=self.num_pairs)
        _validation.positive(smoothing=self.smoothing)
        if self.solver_steps is not None:
            _validation.at_least(1, solver_steps=self.solver_steps)
        if self.floor is not None:
            _validation.positive(floor=self.floor)
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
        """Loss of a batch.

        Args:
            score: The student.
            noising: Forward process.
            batch: Functions (b, n).
            key: Random key of times and noise.
            batching: What the functions have in common, as their generator says.

        Returns:
            The loss, and that of each function with the target time of its worst pair.

        Raises:
            ValueError: If the values have known noise.
        """
        time_key, noise_key = jr.split(key)
        shape, dtype = (self.num_pairs, len(batch.x)), batch.y.dtype
        t, s = self.pairs(noising, shape, self.t_min, dtype, key=time_key)
        one = jnp.ones(len(batch.x), dtype)
        noised = noised_functions(noising, batch, one, self.context_noise_levels, key=noise_key)
        squares = self._squares(score, noising, noised, (t, s), batching)
        counts = per_function(noised.free)
        q = jax.vmap(lambda squares: per_function(noised.free * squares))(squares)
        floor = FLOORS[noising.flat] if self.floor is None else self.floor
        q = q / jnp.maximum(counts, 1.0)[None] / (noising.sigma(s) ** 2 + floor)
        losses = jnp.sqrt(q + self.smoothing**2) - self.smoothing
        total = jnp.sum(jnp.mean(losses, axis=0) * counts) / jnp.maximum(jnp.sum(counts), 1.0)
        worst = jnp.argmax(losses, axis=0)[None]
        info = LossInfo(jnp.mean(losses, axis=0), jnp.take_along_axis(s, worst, axis=0)[0])
        return total, info

    def _squares(
        self,
        score: AbstractScore,
        noising: AbstractNoising,
        noised: NoisedFunctions,
        pairs: tuple[Float[Array, "k b"], Float[Array, "k b"]],
        batching: Batching,
    ) -> Float[Array, "k b n *g"]:
        """Squared error of every pair at every point; common inputs are not repeated."""
        grid = flow_map_grid(noising) if self.pairs.time_grid is None else self.pairs.time_grid
        steps = SOLVER_STEPS[noising.flat] if self.solver_steps is None else self.solver_steps
        times = grid(noising.schedule, steps, self.t_min, noised.y.dtype)
        angles = flow_angle(noising, times[::-1])
        # (b, k, n, *g): the pairs of a function lie beside its points.
        t, s = (jnp.stack([noised.toward(v) for v in pair], axis=1) for pair in pairs)
        rows = FlowRow((t, s), noised.t, noised.y, noised.free, noised.x, noised.mask)

        def one(row: FlowRow) -> Float[Array, "k n *g"]:
            return self._row(score, noising, angles, row)

        if batching.common_inputs:
            mask = noised.mask[0] if batching.padded else None
            rows = rows._replace(x=noised.x[0], mask=mask)
            axes = FlowRow((0, 0), 0, 0, 0, None, None)  # pyright: ignore[reportArgumentType]
            squares = jax.vmap(one, in_axes=(axes,))(rows)
        elif batching.packed > 1 and packs(noising, self.teacher, noised.x[0]):
            squares = apply_two(one, rows)
        else:
            squares = jax.vmap(one)(rows)
        return jnp.moveaxis(squares, 1, 0)

    def _row(
        self, score: AbstractScore, noising: AbstractNoising, angles: Array, row: FlowRow
    ) -> Float[Array, "k n *g"]:
        """Squared errors of the pairs of one row, mean over outputs, or over those of a group."""
        x, mask = row.x, row.mask
        points = (row.t, x, row.y, mask, row.free)
        trajectory = teacher_trajectory(self.teacher, noising, angles, *points)
        scale = jnp.sqrt(noising.gram(x, mask).diagonal())

        def square(t, s) -> PerPoint:
            start, end = (jax.lax.stop_gradient(trajectory(flow_angle(noising, v))) for v in (t, s))
            moved = score.flow_map(noising, t, s, x, start, mask)
            return mean_square(zero_masked((moved - end) / scale, row.free), t)

        return jax.vmap(square)(*row.pairs)


def packs(noising: AbstractNoising, score: AbstractScore, x: Float[Array, "n d"]) -> bool:
    """Whether two functions may be one row: noise and score see no pair of points but the net's.

    Args:
        noising: Forward process.
        score: The teacher.
        x: Inputs of a function.
    """
    independent = isinstance(noising.gram(x), DiagonalGram)
    return independent and getattr(score, "base", None) is None


def apply_two(one: Callable[[FlowRow], Array], rows: FlowRow) -> Float[Array, "b k n"]:
    """Apply a function of rows to functions (b, n), two in a row (see `geomndp.train.packing`).

    Args:
        one: Function of a row, whose mask holds 1 and 2.
        rows: An even number of functions, whose masks have shape (b, n).

    Returns:
        Its values, undefined where a function is padded.
    """

    def two(first: FlowRow, second: FlowRow) -> Float[Array, "2 k n"]:
        ours, others = first.mask, second.mask
        assert ours is not None and others is not None

        def packed(v: Array, w: Array) -> Array:
            return pack(v, w, ours)

        t, s = (packed(v.T, w.T).T for v, w in zip(first.pairs, second.pairs, strict=True))
        own, y, free, x = (packed(v, w) for v, w in zip(first[1:5], second[1:5], strict=True))
        row = FlowRow((t, s), own, y, free, x, packed(ours, 2.0 * others))
        return jnp.stack([part.T for part in unpack(one(row).T, len(ours))])

    halves = (jax.tree.map(lambda v, i=i: v[i::2], rows) for i in range(2))
    squares = jax.vmap(two)(*halves)
    return squares.reshape(-1, *squares.shape[2:])
