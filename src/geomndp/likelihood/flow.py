r"""Log-densities by the probability flow (Chen et al. 2018; Song et al. 2021).

$\log p_\epsilon(y) = \log p_1(y_1) + \int_\epsilon^1 \mathrm{div} f(t, y_t) dt$ along $dy/dt = f$
from $y_\epsilon = y$, on a manifold with respect to its volume. Given a context the flow is that of
the conditional law, and so is the density: one solve.

The error of the solve is estimated from a second, coarser one. With fixed steps of order q the
coarse error is $2^q$ times the fine one, so their difference is $2^q - 1$ times the latter
(Richardson 1911). The end law and the integral are compared apart: their errors often cancel in
the sum, at a rate that the two solves do not share, and a small difference would then mean nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp

from geomndp import _validation
from geomndp._deprecated import renamed_arguments
from geomndp._types import Array, Float, Outputs, PRNGKeyArray, Scalar
from geomndp.geometry import AbstractDivergence, Exact
from geomndp.likelihood.stepwise import FlowEquation, Solution, SteppedSolve
from geomndp.linalg import join_masks, zero_masked
from geomndp.predictive import LogProb
from geomndp.solve import (
    RK4,
    AbstractDynamics,
    AbstractFixedStepSolver,
    AbstractSolver,
    AbstractTimeGrid,
    Adaptive,
    ConditionalDynamics,
    Euler,
    Heun,
    PowerTimeGrid,
)

TERMINALS = ("prior", "exact")
Directions = Float[Array, "k n p"]
TerminalLogDensity = Callable[[Outputs], Scalar]
AnyDynamics = TypeVar("AnyDynamics", bound=AbstractDynamics)
# A fixed-step solver that is not listed counts as first order, which never understates its error.
ORDERS = {Euler: 1, Heun: 2, RK4: 4}


@renamed_arguments(grid="time_grid")
class Flow(eqx.Module):
    """How a log-density is computed.

    `terminal` is the law at time 1: "prior", the limiting law, or "exact", the true noised law,
    which only exact scores know. The defaults cost 64 evaluations and 32 for the error estimate.
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
        t_min: float,
        *,
        key: PRNGKeyArray | None = None,
    ) -> LogProb:
        """Log-density of the free points at time t_min, given the context if there is one."""
        _validation.function(dynamics.x, y, dim=dynamics.noising.dim, mask=dynamics.mask)
        directions = self.divergence.prepare(y, dynamics.mask, key=key)
        return self.summary(self.solve(dynamics, y, t_min, directions))

    def solve(
        self, dynamics: AbstractDynamics, y: Outputs, t_min: float, directions: Directions
    ) -> Solution:
        """Both solves, with the integral of every estimate of the divergence."""
        walk = self.stepwise(dynamics, y, t_min, directions)
        if walk is not None:
            steps = jnp.arange(walk.total, dtype=jnp.int32)
            return walk.end(
                jax.lax.scan(lambda w, k: (walk.step(w, k), None), walk.begin(), steps)[0]
            )
        _, _, law, start, norm = equation = self._equation(dynamics, y, t_min, directions)
        solver, steps, _ = self._coarser()
        (fine, first), (coarse, second) = (
            rule.integrate(
                equation.velocity,
                self._times(dynamics, count, t_min),
                start,
                equation.retract,
                norm,
            )
            for rule, count in ((self.solver, self.steps), (solver, steps))
        )
        return Solution(law(fine[0]), fine[1], law(coarse[0]), coarse[1], first + second)

    def stepwise(
        self, dynamics: AbstractDynamics, y: Outputs, t_min: float, directions: Directions
    ) -> SteppedSolve | None:
        """The same as a loop of steps, None if the solver chooses them on the way."""
        if not isinstance(self.solver, AbstractFixedStepSolver):
            return None
        fine, coarse = (self._times(dynamics, n, t_min) for n in (self.steps, self._coarser()[1]))
        return SteppedSolve(
            self.solver, self._equation(dynamics, y, t_min, directions), fine, coarse
        )

    def num_steps(self) -> int:
        """Steps of both solves together, of a fixed-step solver."""
        return self.steps + self._coarser()[1]

    def _times(self, dynamics: AbstractDynamics, steps: int, t_min: float) -> Float[Array, " m"]:
        if _validation.concrete(t_min) and not 0 < t_min < 1:
            raise ValueError(f"expected 0 < t_min < 1, got {t_min}")
        return self.time_grid(dynamics.noising.schedule, steps, t_min, dynamics.x.dtype)

    def _equation(self, dynamics, y, t_min, directions) -> FlowEquation:
        dynamics, y = _blank(dynamics, y)
        law = _prior(dynamics) if self.terminal == "prior" else _exact(dynamics)
        manifold = dynamics.noising.manifold

        def retract(state):
            return manifold.retract(state[0]), state[1]

        @jax.jit  # traced once, not once for every stage of both solves
        def velocity(t, state):
            return self.divergence(lambda y: dynamics.flow(t, y), state[0], directions, manifold)

        start = (y, jnp.zeros(len(directions), dtype=y.dtype))
        return FlowEquation(velocity, retract, law, start, dynamics.norm())

    def summary(self, whole: Solution, part: Solution | None = None) -> LogProb:
        """Log-density with its errors, less that of a part which has the same probes.

        The standard error is that of the differences probe by probe: what both solves make of a
        probe is much the same, and cancels.
        """
        multiple = self._coarser()[2]
        error, evaluations = whole.change() / multiple, whole.evaluations
        end, volumes = whole.end, whole.volumes
        if part is not None:
            end, volumes = end - part.end, volumes - part.volumes
            error, evaluations = error + part.change() / multiple, evaluations + part.evaluations
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


def _blank(dynamics: AnyDynamics, y: Outputs) -> tuple[AnyDynamics, Outputs]:
    """Zeros in masked rows: whatever stands there reaches neither values nor gradients."""
    mask = dynamics.mask
    return dataclasses.replace(dynamics, x=zero_masked(dynamics.x, mask)), zero_masked(y, mask)


def _prior(dynamics: AbstractDynamics) -> TerminalLogDensity:
    return lambda y: dynamics.noising.prior_log_prob(dynamics.x, y, dynamics.mask)


def _exact(dynamics: AbstractDynamics) -> TerminalLogDensity:
    """Noised law at time 1; given a context, a quotient of two joint densities."""
    if not isinstance(dynamics, ConditionalDynamics):
        name = type(dynamics).__name__
        raise ValueError(f"expected plain ConditionalDynamics for terminal 'exact', got {name}")
    log_prob = getattr(dynamics.score, "log_prob", None)
    if log_prob is None:
        name = type(dynamics.score).__name__
        raise ValueError(f"expected a score with a log_prob for terminal 'exact', got {name}")
    noising, x, mask, context = dynamics.noising, dynamics.x, dynamics.mask, dynamics.context
    one = jnp.ones(len(x), dtype=x.dtype)
    if context is None or len(context.x) == 0:
        return lambda y: log_prob(noising, one, x, y, mask)
    times = jnp.concatenate([context.t, one])
    all_x = jnp.concatenate([context.x, x])
    all_mask = join_masks(context.mask, mask, len(context.x), len(x), x.dtype)

    def conditional(y):
        joint = log_prob(noising, times, all_x, jnp.concatenate([context.y, y]), all_mask)
        return joint - log_prob(noising, context.t, context.x, context.y, context.mask)

    return conditional
