r"""Trajectory distillation: a student's steps lead to where the teacher's flow leads.

The teacher's flow is solved once from noised data at time one to t_min, and every pair of angles on
it is a training pair: the loss is the mean square of $X(\varphi \to \psi; Y_\varphi) - Y_\psi$
relative to the noise at the target, as errors count in a density. No derivative of the student by
the target time is needed, and what depends on the inputs alone is computed once for all pairs.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._types import Array, Batch, Float, PerPoint, PRNGKeyArray, Scalar
from geomndp.data import SEPARATE, Batching
from geomndp.data.context_sampling import ContextNoiseLevels
from geomndp.distillation.call_pairs import CallPairs
from geomndp.distillation.noised_functions import noised_functions
from geomndp.distillation.solved_functions import SolvedFunctions, solve_functions
from geomndp.linalg import zero_masked
from geomndp.noising import AbstractNoising
from geomndp.score import AbstractScore, flow_angle, flow_map_grid
from geomndp.train.abstract_loss import AbstractLoss, LossInfo
from geomndp.train.loss import mean_square, over_targets

FLOORS = {True: 1e-3, False: 1e-5}
"""Smallest variance of data in flat space, over the limiting one, and on manifolds."""
SOLVER_STEPS = {True: 8, False: 12}
"""In flat space and on manifolds; errors of 5 and of 12 are a tenth of the data's noise, 7 km."""


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
            default 8, the most calls of `pairs`, whose times need no interpolation then; on a
            manifold 12.
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
    num_pairs: int = eqx.field(default=4, static=True)
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
        batch: Batch | SolvedFunctions,
        *,
        key: PRNGKeyArray,
        batching: Batching = SEPARATE,
    ) -> tuple[Scalar, LossInfo]:
        """Loss of a batch.

        Args:
            score: The student.
            noising: Forward process.
            batch: Functions (b, n), or some whose flow is known already (`TrajectoryPool`).
            key: Random key of times and noise.
            batching: What the functions have in common, as their generator says.

        Returns:
            The loss, and that of each function with the target time of its worst pair.

        Raises:
            ValueError: If the values have known noise.
        """
        pair_key, solve_key = jr.split(key)
        if not isinstance(batch, SolvedFunctions):
            batch = self.solve(noising, batch, key=solve_key, batching=batching)
        counts = batch.sums(batch.free)
        shape = (self.num_pairs, len(counts))
        t, s = self.pairs(noising, shape, self.t_min, batch.x.dtype, key=pair_key)
        squares = self._squares(score, noising, batch, (t, s), batching)
        q = jax.vmap(lambda squares: batch.sums(batch.free * squares))(squares)
        floor = FLOORS[noising.flat] if self.floor is None else self.floor
        q = q / jnp.maximum(counts, 1.0)[None] / (noising.sigma(s) ** 2 + floor)
        losses = jnp.sqrt(q + self.smoothing**2) - self.smoothing
        worst = jnp.argmax(losses, axis=0)[None]
        losses, s = jnp.mean(losses, axis=0), jnp.take_along_axis(s, worst, axis=0)[0]
        return over_targets(losses, counts), LossInfo(losses, s)

    def solve(
        self,
        noising: AbstractNoising,
        batch: Batch,
        *,
        key: PRNGKeyArray,
        batching: Batching = SEPARATE,
    ) -> SolvedFunctions:
        """Noise functions to time one and solve the teacher's flow.

        Args:
            noising: Forward process.
            batch: Functions (b, n).
            key: Random key of the noise.
            batching: What the functions have in common, as their generator says.

        Returns:
            The functions with their trajectories.

        Raises:
            ValueError: If the values have known noise.
        """
        one = jnp.ones(len(batch.x), batch.y.dtype)
        noised = noised_functions(noising, batch, one, self.context_noise_levels, key=key)
        grid = flow_map_grid(noising) if self.pairs.time_grid is None else self.pairs.time_grid
        steps = SOLVER_STEPS[noising.flat] if self.solver_steps is None else self.solver_steps
        times = grid(noising.schedule, steps, self.t_min, noised.y.dtype)
        angles = flow_angle(noising, times[::-1])
        return solve_functions(self.teacher, noising, noised, angles, batching)

    def _squares(
        self,
        score: AbstractScore,
        noising: AbstractNoising,
        solved: SolvedFunctions,
        pairs: tuple[Float[Array, "k b"], Float[Array, "k b"]],
        batching: Batching,
    ) -> Float[Array, "k r m *g"]:
        """Squared error of every pair at every point; common inputs are not repeated."""
        times = [jnp.stack([solved.toward(v) for v in pair], axis=1) for pair in pairs]

        def one(trajectory, free, times, x, mask) -> Float[Array, "k m *g"]:
            scale = jnp.sqrt(noising.gram(x, mask).diagonal())

            def square(t, s) -> PerPoint:
                start, end = (trajectory(flow_angle(noising, v)) for v in (t, s))
                moved = score.flow_map(noising, t, s, x, start, mask)
                return mean_square(zero_masked((moved - end) / scale, free), t)

            return jax.vmap(square)(*times)

        rows = (jax.lax.stop_gradient(solved.trajectory), solved.free, times)
        if batching.common_inputs:
            mask = solved.mask[0] if batching.padded else None
            x = solved.x[0]
            squares = jax.vmap(lambda path, free, times: one(path, free, times, x, mask))(*rows)
        else:
            squares = jax.vmap(one)(*rows, solved.x, solved.mask)
        return jnp.moveaxis(squares, 1, 0)
