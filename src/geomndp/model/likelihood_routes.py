"""Routes to a log-density: which one, with which flow, and the solves of each as pure functions."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._types import Array, Mask, Outputs
from geomndp.likelihood import Exact, Flow, Hutchinson, LogProb, Solution
from geomndp.linalg import columns, of_one_rank
from geomndp.samplers import Problem, check_amortised, conditional_dynamics
from geomndp.samplers.problem import amortises
from geomndp.solve import AbstractDynamics, ConditionalDynamics

ROUTES = ("conditional", "joint")


def chosen_route(problem: Problem, route: str | None) -> str:
    """The route that was asked for, refused where it cannot be gone; the cheaper one for None."""
    if route is None:
        route = "conditional" if amortises(problem) else "joint"
    _validation.one_of("route", route, ROUTES)
    if route == "conditional":
        check_amortised(problem)
    elif problem.observations.noisy:
        raise ValueError("expected observations without noise for route 'joint', got noise")
    return route


def chosen_flow(flow: Flow | None, key: Any) -> Flow:
    """The flow that was asked for, else one with probes if there is a key for them."""
    if flow is None:
        return Flow(divergence=Exact() if key is None else Hutchinson())
    if not isinstance(flow, Flow):
        raise ValueError(f"expected a flow such as Flow(steps=16), got {_validation.brief(flow)}")
    return flow


def log_prob(
    flow: Flow, problem: Problem, y: Outputs, mask: Mask | None, key, route: str
) -> LogProb:
    """Log-density of y at the problem's inputs given its observations.

    Args:
        flow: Solver of the probability flow.
        problem: The model, the inputs (n, d) and the observations.
        y: Values in the model's units, shape (n, p).
        mask: 1 for real rows, 0 for padding, shape (n,).
        key: Random key of the divergence's probes; None for an exact divergence.
        route: "conditional" (one solve) or "joint" (two).
    """
    problem = problem if mask is None else dataclasses.replace(problem, mask=mask)
    solutions = [solve(flow, problem, y, key, part) for part in solves(problem, route)]
    return flow.summary(*solutions)


def solves(problem: Problem, route: str) -> tuple[str, ...]:
    """Names of the solves of a route: of the conditional law, or of the joint and the context's."""
    return ("joint", "context") if route == "joint" and problem.conditioned else ("conditional",)


def solve(flow: Flow, problem: Problem, y: Outputs, key, part: str) -> Solution:
    """One solve of a route."""
    dynamics, values, directions = equation(flow, problem, y, key, part)
    return flow.solve(dynamics, values, problem.t_min, directions)


def equation(
    flow: Flow, problem: Problem, y: Outputs, key, part: str
) -> tuple[AbstractDynamics, Array, Array]:
    """Dynamics, values and probes of one solve.

    Probes of context and target points have keys of their own: the context's are the same in the
    joint solve and in its own.
    """
    context = problem.observations
    keys = (None, None) if key is None else (jr.fold_in(key, 0), jr.fold_in(key, 1))

    def probes(values, mask, key):
        return flow.divergence.prepare(values, mask, key=key)

    if part == "context" and problem.partial is None:
        parts = (problem.noising, problem.score, context.x, context.mask, None)
        return ConditionalDynamics(*parts), context.y, probes(context.y, context.mask, keys[0])
    if part == "conditional":
        return conditional_dynamics(problem), y, probes(y, problem.mask, keys[1])
    problem, y = _all_free(problem, y, part)
    targets = probes(y, problem.mask, keys[1])
    directions = jnp.concatenate([probes(context.y, context.mask, keys[0]), targets], axis=1)
    return problem.joint(), jnp.concatenate([context.y, y]), directions


def _all_free(problem: Problem, y: Outputs, part: str) -> tuple[Problem, Outputs]:
    """Targets with the outputs that are observed in their rows, or with these alone."""
    partial = problem.partial
    if partial is None:
        return problem, y
    assert partial.mask is not None and problem.mask is not None
    seen, free = of_one_rank(partial.mask, problem.mask)
    y = jnp.where(columns(seen, y.shape[1]) > 0, partial.y, y)
    mask = seen if part == "context" else jnp.maximum(seen, free)
    return dataclasses.replace(problem, mask=mask, partial=None), y
