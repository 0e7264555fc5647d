"""Routes to a log-density: which one, with which flow, the solves of each, and their execution.

A solve goes through its steps in stretches of about a second; inside JAX's transformations, where
there is nothing to measure, all is one pure function.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _validation
from geomndp._arrays import bucket, pad_rows
from geomndp._progress import Clock, reporting
from geomndp._types import Array, Mask, Outputs, ScalarLike
from geomndp.likelihood import AnyFlow, Exact, Flow, Hutchinson, LogProb, Solution
from geomndp.linalg import columns, of_one_rank
from geomndp.model._jit import Bound, Settings, if_last, program, traced
from geomndp.samplers import Problem, check_amortised, conditional_dynamics, pad_problem
from geomndp.samplers.problem import amortises
from geomndp.solve import AbstractDynamics, AbstractFixedStepSolver, ConditionalDynamics

ROUTES = ("conditional", "joint")


def chosen_route(problem: Problem, route: str | None) -> str:
    """The route that was asked for, refused where it cannot be gone; the cheaper one for None."""
    if route is None:
        too_noisy = problem.score.conditional and problem.observations.noisy
        route = "conditional" if too_noisy or amortises(problem) else "joint"
    _validation.one_of("route", route, ROUTES)
    if route == "conditional":
        check_amortised(problem)
    elif problem.observations.noisy:
        raise ValueError("expected observations without noise for route 'joint', got noise")
    return route


def chosen_flow(flow: AnyFlow | None, key: Any) -> AnyFlow:
    """The flow that was asked for, else one with probes if there is a key for them."""
    if flow is None:
        return Flow(divergence=Exact() if key is None else Hutchinson())
    if not isinstance(flow, AnyFlow):
        raise ValueError(f"expected a flow such as Flow(steps=16), got {_validation.brief(flow)}")
    return flow


def log_prob(
    flow: AnyFlow, problem: Problem, y: Outputs, mask: Mask | None, key, route: str
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


def solve(flow: AnyFlow, problem: Problem, y: Outputs, key, part: str) -> Solution:
    """One solve of a route."""
    dynamics, values, directions = equation(flow, problem, y, key, part)
    return flow.solve(dynamics, values, _begin(problem), directions)


def _begin(problem: Problem) -> ScalarLike:
    """Diffusion time of the values."""
    return problem.t_min if problem.begin is None else problem.begin


def equation(
    flow: AnyFlow, problem: Problem, y: Outputs, key, part: str
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
        dynamics = ConditionalDynamics(*parts).with_prepared()
        return dynamics, context.y, probes(context.y, context.mask, keys[0])
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


@eqx.filter_jit
def compiled_log_prob(flow: AnyFlow, problem: Problem, y: Outputs, key, route: str) -> LogProb:
    """Log-density as `log_prob`, with the problem's mask, compiled once per shape."""
    return log_prob(flow, problem, y, problem.mask, key, route)


def solve_log_prob(
    flow: AnyFlow,
    problem: Problem,
    y: Outputs,
    key: Any,
    route: str,
    settings: Settings,
) -> LogProb:
    """Log-density as `log_prob`, with the problem's mask: in stretches, within the memory."""
    if traced((flow, problem, y, key)):
        return compiled_log_prob(flow, problem, y, key, route)
    n = len(problem.x)
    if n == 0:  # the density of nothing is one
        zero = jnp.zeros((), problem.x.dtype)
        return LogProb(zero, zero, zero, jnp.zeros((), jnp.int32))
    if problem.score.pads:
        problem = pad_problem(problem, bucket(problem.num_observed), bucket(n))
        y = pad_rows(y, bucket(n))
    terms = solves(problem, route)
    bound = Bound(problem, settings)
    with reporting("solving", 100 * len(terms), settings.progress) as report:
        solutions = [
            _solution(
                flow, (problem, y, key, part), bound, lambda share, i=i: report(100 * (i + share))
            )
            for i, part in enumerate(terms)
        ]
    return flow.summary(*solutions)


def _solution(flow: AnyFlow, args: tuple, bound: Bound, update) -> Solution:
    """One solve, with as many directional derivatives at a time as fit the memory."""
    zero = np.int32(0)
    if not isinstance(flow, Flow) or not isinstance(flow.solver, AbstractFixedStepSolver):
        return program(solve, flow, *args)(flow, *args)
    walk = program(start_density, flow, *args)(flow, *args)
    move = program(move_density, flow, *args, walk, zero, zero)
    if bound.exceeded(move):
        chunk = getattr(flow.divergence, "chunk", 1)
        chunk = bound.smaller(min(chunk, max(1, args[1].size)), move)
        divergence = dataclasses.replace(flow.divergence, chunk=chunk)
        return _solution(dataclasses.replace(flow, divergence=divergence), args, bound, update)
    results = []

    def advance(i: int, j: int):
        nonlocal walk
        walk, result = move(flow, *args, walk, np.int32(i), np.int32(j))
        results.append(result)
        return result

    total = flow.num_steps()
    for done in Clock().through(total, advance):
        update(done / total)
    return results[-1]


def start_density(flow: Flow, problem: Problem, y, key, part: str) -> Any:
    """Where a solve sets out from."""
    return _stepwise(flow, problem, y, key, part).begin()


def move_density(
    flow: Flow, problem: Problem, y, key, part: str, walk, start, stop
) -> tuple[Any, Solution]:
    """The solve after the steps `start`, ..., `stop` - 1, and after the last of all its result."""
    stepwise = _stepwise(flow, problem, y, key, part)
    walk = jax.lax.fori_loop(start, stop, lambda k, walk: stepwise.step(walk, k), walk)
    return walk, if_last(stop == stepwise.total, stepwise.end, walk)


def _stepwise(flow: Flow, problem: Problem, y, key, part: str):
    field, values, directions = equation(flow, problem, y, key, part)
    walk = flow.stepwise(field, values, _begin(problem), directions)
    assert walk is not None
    return walk


def finite_log_prob(result: LogProb) -> LogProb:
    """The result; a NaN or infinity is an error."""
    if _validation.concrete(result.value) and not bool(jnp.isfinite(result.value)):
        raise FloatingPointError(
            f"the log-density became {float(result.value)}: the values may lie far outside what "
            "the model knows, or the steps of the flow may be too few"
        )
    return result
