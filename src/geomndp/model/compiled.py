"""The two computations behind a model's methods, in the model's own units."""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax.numpy as jnp

from geomndp._types import Mask, Outputs
from geomndp.likelihood import Flow, LogProb
from geomndp.samplers import AbstractSampler, Problem, Samples, conditional_field
from geomndp.solve import Field, join_masks


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
    field = dataclasses.replace(conditional_field(problem), mask=mask)
    if route == "conditional" or problem.num_observed == 0:
        return flow.log_prob(field, y, problem.eps, key=key)
    observed = problem.observations
    context = Field(problem.noising, problem.score, observed.x, observed.mask, None)
    sizes = problem.num_observed, len(problem.x), y.dtype
    joint = dataclasses.replace(problem.joint(), mask=join_masks(observed.mask, mask, *sizes))
    whole = flow.log_prob(joint, jnp.concatenate([observed.y, y]), problem.eps, key=key)
    part = flow.log_prob(context, observed.y, problem.eps, key=key)
    return LogProb(
        whole.value - part.value,
        whole.solver_error + part.solver_error,
        jnp.hypot(whole.probe_error, part.probe_error),
        whole.evaluations + part.evaluations,
    )
