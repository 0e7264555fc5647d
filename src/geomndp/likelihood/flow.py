r"""Log-densities by the probability flow (Chen et al. 2018; Song et al. 2021).

$\log p_\epsilon(y) = \log p_1(y_1) + \int_\epsilon^1 \mathrm{div} f(t, y_t) dt$ along $dy/dt = f$
from $y_\epsilon = y$, on a manifold with respect to its volume. Given a context the flow is that of
the conditional law, and so is the density: one solve.

The error of the solve is estimated from a second, coarser one. With fixed steps of order q the
coarse error is $2^q$ times the fine one, so their difference is $2^q - 1$ times the latter
(Richardson 1911). The terminal density and the integral are compared apart: their errors often
cancel in the sum, at a rate that the two solves do not share, and a small difference would then
mean nothing.
"""

from __future__ import annotations

import dataclasses
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp

from geomndp import _validation
from geomndp._deprecated import renamed_arguments
from geomndp._types import Array, Float, Outputs, PRNGKeyArray, ScalarLike
from geomndp.geometry import AbstractDivergence, Exact
from geomndp.geometry.divergence import Directions
from geomndp.likelihood.stepwise import (
    FlowEquation,
    Solution,
    SteppedSolve,
    exact_log_density,
    prior_log_density,
    tweedie_log_density,
)
from geomndp.linalg import zero_masked
from geomndp.predictive import LogProb
from geomndp.solve import (
    RK4,
    AbstractDynamics,
    AbstractFixedStepSolver,
    AbstractSolver,
    AbstractTimeGrid,
    Adaptive,
    Euler,
    Heun,
    PowerTimeGrid,
)

TERMINALS = {
    "prior": prior_log_density,
    "tweedie": tweedie_log_density,
    "exact": exact_log_density,
}
AnyDynamics = TypeVar("AnyDynamics", bound=AbstractDynamics)
# A fixed-step solver that is not listed counts as first order, which never understates its error.
ORDERS = {Euler: 1, Heun: 2, RK4: 4}


@renamed_arguments(grid="time_grid")
class Flow(eqx.Module):
    """Log-densities by the probability flow.

    The defaults cost 64 score evaluations, and 32 more for the error estimate.

    Attributes:
        solver: Method that integrates the flow and its divergence.
        steps: Number of steps, at least 2; those of the error estimate are half as many.
        time_grid: Where the diffusion times lie, by default `PowerTimeGrid(4.0)`.
        divergence: Exact, or estimated by random probes.
        terminal: Law at time 1: "prior", the limiting law; "tweedie", that law about the mean that
            is left at time 1; or "exact", the true noised law, which exact scores alone know.

    Example:
        >>> model.log_prob_info(x, y, flow=Flow(steps=32))  # doctest: +SKIP
    """

    solver: AbstractSolver = RK4()
    steps: int = eqx.field(default=16, static=True)
    time_grid: AbstractTimeGrid = PowerTimeGrid(4.0)
    divergence: AbstractDivergence = Exact()
    terminal: str = eqx.field(default="prior", static=True)

    def __check_init__(self):
        _validation.at_least(2, steps=self.steps)
        _validation.one_of("terminal", self.terminal, TERMINALS)

    def log_prob(
        self,
        dynamics: AbstractDynamics,
        y: Outputs,
        t_min: ScalarLike,
        *,
        key: PRNGKeyArray | None = None,
    ) -> LogProb:
        """Log-density of the free points at time t_min, given the context if there is one.

        Args:
            dynamics: Free points (n, d) and their score.
            y: Values (n, p).
            t_min: Smallest diffusion time, where the density is taken.
            key: Random key of the probes; not used by an exact divergence.

        Returns:
            Log-density in nats, with its errors.

        Raises:
            ValueError: If shapes do not fit, `t_min` is out of (0, 1), or there is no exact
                terminal law.
        """
        _validation.function(dynamics.x, y, dim=dynamics.noising.dim, mask=dynamics.mask)
        directions = self.divergence.prepare(y, dynamics.mask, key=key)
        return self.summary(self.solve(dynamics, y, t_min, directions))

    def solve(
        self, dynamics: AbstractDynamics, y: Outputs, t_min: ScalarLike, directions: Directions
    ) -> Solution:
        """Solve the flow twice, the second time more coarsely.

        Args:
            dynamics: Free points and their score.
            y: Values (n, p).
            t_min: Smallest diffusion time.
            directions: Probes (k, n, p) of the divergence.

        Returns:
            Terminal log-densities and integrals of the divergence of both solves.
        """
        loop = self.stepwise(dynamics, y, t_min, directions)
        if loop is not None:
            steps = jnp.arange(loop.total, dtype=jnp.int32)
            state, _ = jax.lax.scan(lambda s, k: (loop.step(s, k), None), loop.begin(), steps)
            return loop.end(state)
        _, _, law, start, norm = equation = self._equation(dynamics, y, t_min, directions)
        solver, steps, _ = self._coarser()
        (fine, first), (coarse, second) = (
            method.integrate(
                equation.velocity,
                self._times(dynamics, count, t_min),
                start,
                equation.retract,
                norm,
            )
            for method, count in ((self.solver, self.steps), (solver, steps))
        )
        return Solution(law(fine[0]), fine[1], law(coarse[0]), coarse[1], first + second)

    def stepwise(
        self, dynamics: AbstractDynamics, y: Outputs, t_min: ScalarLike, directions: Directions
    ) -> SteppedSolve | None:
        """Make both solves one loop of steps, which can be split.

        Args:
            dynamics: Free points and their score.
            y: Values (n, p).
            t_min: Smallest diffusion time.
            directions: Probes (k, n, p) of the divergence.

        Returns:
            The loop; None if the solver chooses its steps itself.
        """
        if not isinstance(self.solver, AbstractFixedStepSolver):
            return None
        fine, coarse = (self._times(dynamics, n, t_min) for n in (self.steps, self._coarser()[1]))
        return SteppedSolve(
            self.solver, self._equation(dynamics, y, t_min, directions), fine, coarse
        )

    def num_steps(self) -> int:
        """Number of steps of both solves together, of a fixed-step solver."""
        return self.steps + self._coarser()[1]

    def _times(
        self, dynamics: AbstractDynamics, steps: int, t_min: ScalarLike
    ) -> Float[Array, " m"]:
        if _validation.concrete(t_min) and not 0 < t_min < 1:
            raise ValueError(f"expected 0 < t_min < 1, got {t_min}")
        return self.time_grid(dynamics.noising.schedule, steps, t_min, dynamics.x.dtype)

    def _equation(self, dynamics, y, t_min, directions) -> FlowEquation:
        dynamics, y = zero_padding(dynamics, y)
        law = TERMINALS[self.terminal](dynamics)
        manifold = dynamics.noising.manifold

        def retract(state):
            return manifold.retract(state[0]), state[1]

        @jax.jit  # traced once, not once for every stage of both solves
        def velocity(t, state):
            return self.divergence(lambda y: dynamics.flow(t, y), state[0], directions, manifold)

        start = (y, jnp.zeros(len(directions), dtype=y.dtype))
        return FlowEquation(velocity, retract, law, start, dynamics.norm())

    def summary(self, joint: Solution, context: Solution | None = None) -> LogProb:
        """Log-density with its errors, from one solve or as the difference of two.

        The standard error of a difference is that of the differences per probe: what both solves
        make of a probe is nearly the same, and cancels.

        Args:
            joint: Solve of all points.
            context: Solve of the context points with the same probes; None if it is not needed.

        Returns:
            Log-density in nats.
        """
        multiple = self._coarser()[2]
        error, evaluations = joint.change() / multiple, joint.evaluations
        end, volumes = joint.end, joint.volumes
        if context is not None:
            end, volumes = end - context.end, volumes - context.volumes
            error, evaluations = (
                error + context.change() / multiple,
                evaluations + context.evaluations,
            )
        probe_error = self.divergence.standard_error(volumes)
        return LogProb(end + jnp.mean(volumes), error, probe_error, evaluations)

    def _coarser(self) -> tuple[AbstractSolver, int, float]:
        """Solver and steps of the second solve, and how many of our errors it should be away."""
        if isinstance(self.solver, Adaptive):
            # Its error follows the tolerance roughly: unscaled, the estimate is rarely too small.
            rtol, atol = 10 * self.solver.rtol, 10 * self.solver.atol
            return dataclasses.replace(self.solver, rtol=rtol, atol=atol), self.steps, 1.0
        steps = self.steps // 2
        return self.solver, steps, (self.steps / steps) ** ORDERS.get(type(self.solver), 1) - 1


def zero_padding(dynamics: AnyDynamics, y: Outputs) -> tuple[AnyDynamics, Outputs]:
    """Zeros in masked rows: whatever stands there reaches neither values nor gradients.

    A row whose free outputs are all masked keeps its location where another output is observed.
    """
    x = zero_masked(dynamics.x, dynamics.rows())
    return dataclasses.replace(dynamics, x=x), zero_masked(y, dynamics.mask)
