"""The two computations behind a model's methods, in the model's own units, as pure functions."""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr

from geomndp._types import Array, Mask, Outputs
from geomndp.likelihood import Flow, LogProb, Solution
from geomndp.samplers import AbstractSampler, Problem, Samples, conditional_dynamics
from geomndp.solve import AbstractDynamics, ConditionalDynamics


@eqx.filter_jit
def draw(sampler: AbstractSampler, problem: Problem, key, num_samples: int) -> Samples:
    """Samples of a problem, compiled once a shape."""
    return sampler.draw(problem, key=key, num_samples=num_samples)


@eqx.filter_jit
def compiled_log_prob(
    flow: Flow, problem: Problem, y: Outputs, mask: Mask | None, key, route: str
) -> LogProb:
    """Log-density as `log_prob`, compiled once a shape."""
    return log_prob(flow, problem, y, mask, key, route)


def log_prob(
    flow: Flow, problem: Problem, y: Outputs, mask: Mask | None, key, route: str
) -> LogProb:
    """Log-density of y at the problem's inputs given its observations; masked rows do not count."""
    problem = problem if mask is None else dataclasses.replace(problem, mask=mask)
    solutions = [solve(flow, problem, y, key, part) for part in solves(problem, route)]
    return flow.summary(*solutions)


def solves(problem: Problem, route: str) -> tuple[str, ...]:
    """Names of the solves of a route: of the conditional law, or of the joint and the context's."""
    return ("joint", "context") if route == "joint" and problem.num_observed else ("conditional",)


def solve(flow: Flow, problem: Problem, y: Outputs, key, part: str) -> Solution:
    """One solve of a route."""
    field, values, directions = equation(flow, problem, y, key, part)
    return flow.solve(field, values, problem.t_min, directions)


def equation(
    flow: Flow, problem: Problem, y: Outputs, key, part: str
) -> tuple[AbstractDynamics, Array, Array]:
    """Field, values and probes of one solve.

    Probes of context and target points have keys of their own: the context's are the same in the
    joint solve and in its own.
    """
    seen = problem.observations
    keys = (None, None) if key is None else (jr.fold_in(key, 0), jr.fold_in(key, 1))

    def probes(values, mask, key):
        return flow.divergence.prepare(values, mask, key=key)

    if part == "context":
        field = ConditionalDynamics(problem.noising, problem.score, seen.x, seen.mask, None)
        return field, seen.y, probes(seen.y, seen.mask, keys[0])
    targets = probes(y, problem.mask, keys[1])
    if part == "conditional":
        return conditional_dynamics(problem), y, targets
    directions = jnp.concatenate([probes(seen.y, seen.mask, keys[0]), targets], axis=1)
    return problem.joint(), jnp.concatenate([seen.y, y]), directions
