"""The initial value problem of a log-density: its terminal law, and two solves as one loop.

The steps of the solve proper come first, those of the coarser one after them. The loop can be split
anywhere. One step serves both solves: half as much is compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from geomndp._types import Array, Float, Int, Outputs, Scalar
from geomndp.linalg import zero_masked
from geomndp.solve import (
    AbstractDynamics,
    AbstractFixedStepSolver,
    ConditionalDynamics,
    on_manifold,
)

FlowState = tuple[Array, Array]
"""Values, and the integrals of the estimates of the divergence."""


class Solution(NamedTuple):
    """Results of a solve and of a coarser one.

    Attributes:
        end: Terminal log-density.
        volumes: Integral (k,) of every estimate of the divergence.
        coarse_end: Terminal log-density of the coarser solve.
        coarse_volumes: Its integrals (k,).
        evaluations: Score evaluations of both solves.
    """

    end: Scalar
    volumes: Float[Array, " k"]
    coarse_end: Scalar
    coarse_volumes: Float[Array, " k"]
    evaluations: Int[Array, ""]

    def change(self) -> Scalar:
        """Difference between the two solves."""
        volume = jnp.mean(self.volumes) - jnp.mean(self.coarse_volumes)
        return jnp.abs(self.end - self.coarse_end) + jnp.abs(volume)


class FlowEquation(NamedTuple):
    """Initial value problem of a log-density.

    Attributes:
        velocity: Derivative of the state by time.
        retract: Map of a state back to the manifold.
        law: Terminal log-density of values (n, p).
        start: Initial state.
        norm: Norm of errors, or None.
    """

    velocity: Callable[[Scalar, Any], Any]
    retract: Callable[[FlowState], FlowState]
    law: Callable[[Array], Scalar]
    start: FlowState
    norm: Callable[[Any], Scalar] | None


class SolveState(NamedTuple):
    """State of the two solves.

    Attributes:
        now: State of the present solve.
        before: Final state of the solve before.
    """

    now: FlowState
    before: FlowState


class SteppedSolve(NamedTuple):
    """Fixed-step solves over a time grid and a coarser one, as one loop.

    Attributes:
        solver: Fixed-step method.
        equation: Initial value problem.
        fine: Time grid (a,).
        coarse: Coarser time grid (b,).
    """

    solver: AbstractFixedStepSolver
    equation: FlowEquation
    fine: Float[Array, " a"]
    coarse: Float[Array, " b"]

    @property
    def total(self) -> int:
        """Number of steps of both solves."""
        return len(self.fine) + len(self.coarse) - 2

    def begin(self) -> SolveState:
        """State before the first step."""
        return SolveState(self.equation.start, self.equation.start)

    def step(self, state: SolveState, k: Int[Array, ""]) -> SolveState:
        """State after step k; the first step of the coarser solve starts from the initial state."""
        t0 = jnp.concatenate([self.fine[:-1], self.coarse[:-1]])[k]
        t1 = jnp.concatenate([self.fine[1:], self.coarse[1:]])[k]
        again = k == len(self.fine) - 1
        before = _choose(again, state.now, state.before)
        now = _choose(again, self.equation.start, state.now)
        move = on_manifold(self.solver.step, self.equation.retract)
        return SolveState(move(self.equation.velocity, t0, t1, now), before)

    def end(self, state: SolveState) -> Solution:
        """Results, from the state after the last step."""
        (y, volumes), (coarse_y, coarse_volumes) = state.before, state.now
        end, coarse_end = jax.vmap(self.equation.law)(jnp.stack([y, coarse_y]))
        evaluations = jnp.asarray(self.solver.evaluations * self.total)
        return Solution(end, volumes, coarse_end, coarse_volumes, evaluations)


def _choose(condition: Array, first: FlowState, second: FlowState) -> FlowState:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), first, second)


TerminalLogDensity = Callable[[Outputs], Scalar]


def prior_log_density(dynamics: AbstractDynamics) -> TerminalLogDensity:
    """Log-density of the limiting law.

    Args:
        dynamics: Free points.

    Returns:
        Values (n, p) -> log-density in nats.
    """
    return lambda y: dynamics.noising.prior_log_prob(dynamics.x, y, dynamics.mask)


def tweedie_log_density(dynamics: AbstractDynamics) -> TerminalLogDensity:
    r"""Log-density of the limiting law about the mean that is left at time one.

    $N(m + \sigma u(m), K)$: Tweedie's formula at y = m gives the mean $m + a (E[y_0] - m)$ of the
    noised law. Its covariance is the limiting one: samples start from it with `start_terms=0` only.
    On a manifold it is the limiting law.

    Args:
        dynamics: Free points.

    Returns:
        Values (n, p) -> log-density in nats.
    """
    noising = dynamics.noising
    if not noising.flat:
        return prior_log_density(dynamics)
    one = jnp.ones((), dtype=dynamics.x.dtype)
    shift = zero_masked(noising.sigma(one) * dynamics.u(one, dynamics.mean()), dynamics.mask)
    return lambda y: noising.prior_log_prob(dynamics.x, y - shift, dynamics.mask)


def exact_log_density(dynamics: AbstractDynamics) -> TerminalLogDensity:
    """Log-density of the noised law at time one; given a context, a quotient of two joint ones.

    Args:
        dynamics: Free points, with a score that has a `log_prob`.

    Returns:
        Values (n, p) -> log-density in nats.

    Raises:
        ValueError: If the score is not an exact one.
    """
    if not isinstance(dynamics, ConditionalDynamics):
        name = type(dynamics).__name__
        raise ValueError(f"expected plain ConditionalDynamics for terminal 'exact', got {name}")
    log_prob = getattr(dynamics.score, "log_prob", None)
    if log_prob is None:
        name = type(dynamics.score).__name__
        raise ValueError(f"expected a score with a log_prob for terminal 'exact', got {name}")
    noising, observed = dynamics.noising, dynamics.observed()
    one = jnp.ones((), dtype=dynamics.x.dtype)
    if observed is None or len(observed.x) == 0:
        return lambda y: log_prob(noising, one, dynamics.x, y, dynamics.mask)

    def conditional(y):
        joint = log_prob(noising, *dynamics.points(one, y))
        return joint - log_prob(noising, *observed)

    return conditional
