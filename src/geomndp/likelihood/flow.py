r"""Log-densities by the probability flow (Chen et al. 2018; Song et al. 2021).

$\log p_\epsilon(y) = \log p_1(y_1) + \int_\epsilon^1 \mathrm{div} f(t, y_t) dt$ along $dy/dt = f$
from $y_\epsilon = y$, on a manifold with respect to its volume. Given a context the field is that
of the conditional law, and so is the density: one solve.

The error of the solve is estimated from a second, coarser one. With fixed steps of order q the
coarse error is $2^q$ times the fine one, so their difference is $2^q - 1$ times the latter
(Richardson 1911). The end law and the integral are compared apart: their errors often cancel in
the sum, at a rate that the two solves do not share, and a small difference would then mean nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp

from geomndp import _checks
from geomndp._linalg import zero_masked
from geomndp._types import Array, Int, Outputs, PRNGKeyArray, Scalar
from geomndp.geometry import AbstractDivergence, Exact
from geomndp.solve import (
    RK4,
    AbstractField,
    AbstractGrid,
    AbstractSolver,
    Adaptive,
    Euler,
    Field,
    Heun,
    Power,
    join_masks,
)

TERMINALS = ("prior", "exact")
EndLaw = Callable[[Outputs], Scalar]
AnyField = TypeVar("AnyField", bound=AbstractField)
# A fixed-step solver that is not listed counts as first order, which never understates its error.
ORDERS = {Euler: 1, Heun: 2, RK4: 4}


class LogProb(NamedTuple):
    """A log-density in nats, and how far to trust it."""

    value: Scalar
    """Log-density; NaN or infinite if the solve failed."""
    solver_error: Scalar
    """Estimated error of the solve, from a second one on a coarser grid."""
    probe_error: Scalar
    """Standard error from random probes: 0 for an exact divergence, infinite for one probe."""
    evaluations: Int[Array, ""]
    """Score evaluations of both solves together, each with its directional derivatives."""


class Flow(eqx.Module):
    """How a log-density is computed.

    `terminal` is the law at time 1: "prior", the limiting law, or "exact", the true noised law,
    which only exact scores know. The defaults cost 64 evaluations and 32 for the error estimate.
    """

    solver: AbstractSolver = RK4()
    steps: int = eqx.field(default=16, static=True)
    grid: AbstractGrid = Power(4.0)
    divergence: AbstractDivergence = Exact()
    terminal: str = eqx.field(default="prior", static=True)

    def __check_init__(self):
        _checks.at_least(2, steps=self.steps)
        _checks.one_of("terminal", self.terminal, TERMINALS)

    def log_prob(
        self, field: AbstractField, y: Outputs, eps: float, *, key: PRNGKeyArray | None = None
    ) -> LogProb:
        """Log-density at time eps of the field's free points, given its context if it has one."""
        _checks.function(field.x, y, dim=field.noising.dim, mask=field.mask)
        if _checks.concrete(eps) and not 0 < eps < 1:
            raise ValueError(f"expected 0 < eps < 1, got {eps}")
        field, y = _blank(field, y)
        law = _prior(field) if self.terminal == "prior" else _exact(field)
        directions = self.divergence.prepare(y, field.mask, key=key)

        manifold = field.noising.manifold

        def onto(state):
            return manifold.onto(state[0]), state[1]

        @jax.jit  # traced once, not once for every stage of both solves
        def velocity(t, state):
            return self.divergence(lambda y: field.flow(t, y), state[0], directions, manifold)

        def solve(solver, steps):
            times = self.grid(field.noising.schedule, steps, eps, y.dtype)
            start = (y, jnp.zeros(len(directions), dtype=y.dtype))
            (y1, volumes), evaluations = solver.integrate(velocity, times, start, onto)
            return law(y1), jnp.mean(volumes), volumes, evaluations

        solver, steps, multiple = self._coarser()
        end, volume, volumes, evaluations = solve(self.solver, self.steps)
        coarse_end, coarse_volume, _, more = solve(solver, steps)
        change = jnp.abs(end - coarse_end) + jnp.abs(volume - coarse_volume)
        probe_error = self.divergence.standard_error(volumes)
        return LogProb(end + volume, change / multiple, probe_error, evaluations + more)

    def _coarser(self) -> tuple[AbstractSolver, int, float]:
        """Solver and steps of the second solve, and how many of our errors it should be away."""
        if isinstance(self.solver, Adaptive):
            # Its error follows the tolerance roughly: unscaled, the estimate is rarely too small.
            rtol, atol = 10 * self.solver.rtol, 10 * self.solver.atol
            return dataclasses.replace(self.solver, rtol=rtol, atol=atol), self.steps, 1.0
        steps = self.steps // 2
        return self.solver, steps, (self.steps / steps) ** ORDERS.get(type(self.solver), 1) - 1


def _blank(field: AnyField, y: Outputs) -> tuple[AnyField, Outputs]:
    """Zeros in masked rows: whatever stands there reaches neither values nor gradients."""
    mask = field.mask
    return dataclasses.replace(field, x=zero_masked(field.x, mask)), zero_masked(y, mask)


def _prior(field: AbstractField) -> EndLaw:
    return lambda y: field.noising.prior_log_prob(field.x, y, field.mask)


def _exact(field: AbstractField) -> EndLaw:
    """Noised law at time 1; given a context, a quotient of two joint densities."""
    if not isinstance(field, Field):
        name = type(field).__name__
        raise ValueError(f"expected a plain Field for terminal 'exact', got {name}")
    log_prob = getattr(field.score, "log_prob", None)
    if log_prob is None:
        name = type(field.score).__name__
        raise ValueError(f"expected a score with a log_prob for terminal 'exact', got {name}")
    noising, x, mask, context = field.noising, field.x, field.mask, field.context
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
