"""What is compiled: a stretch of steps of a block of samples, and one of a log-density's solves.

The number of steps of a stretch, and which they are, are data: one program serves all of them.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from geomndp._types import Array
from geomndp.likelihood import Flow, Solution
from geomndp.model._jit import equation
from geomndp.samplers import AbstractSampler, Problem, sample_keys
from geomndp.samplers.program import begin, end, outer_step


def start_samples(sampler: AbstractSampler, problem: Problem, key, first, count: int) -> Any:
    """States of the samples `first`, ..., `first` + `count` - 1, and their sizes, none yet."""
    program, dtype = sampler.execution(problem), problem.x.dtype
    keys = sample_keys(key, count, first)
    states = jax.vmap(lambda key: begin(program, dtype, key=key))(keys)
    return states, jnp.zeros((count, program.steps), dtype=dtype)


def move_samples(
    sampler: AbstractSampler, problem: Problem, key, first, count: int, states, start, stop
) -> tuple[Any, Array]:
    """The same after the steps `start`, ..., `stop` - 1, and after the last of all the samples."""
    program, dtype = sampler.execution(problem), problem.x.dtype
    keys = sample_keys(key, count, first)

    def step(i, states):
        values, sizes = states
        values, rms = jax.vmap(lambda v, key: outer_step(program, v, i, dtype, key=key))(
            values, keys
        )
        return values, sizes.at[:, i].set(rms)

    def finish(states):
        return jax.vmap(lambda v, key: end(program, v, dtype, key=key))(states[0], keys)

    states = jax.lax.fori_loop(start, stop, step, states)
    shape = jax.eval_shape(finish, states)
    y = jax.lax.cond(
        stop == program.steps, finish, lambda _: jnp.zeros(shape.shape, shape.dtype), states
    )
    return states, y


def start_density(flow: Flow, problem: Problem, y, key, part: str) -> Any:
    """Where a solve sets out from."""
    return _stepwise(flow, problem, y, key, part).begin()


def move_density(
    flow: Flow, problem: Problem, y, key, part: str, walk, start, stop
) -> tuple[Any, Solution]:
    """The solve after the steps `start`, ..., `stop` - 1, and after the last of all its result."""
    stepwise = _stepwise(flow, problem, y, key, part)
    walk = jax.lax.fori_loop(start, stop, lambda k, walk: stepwise.step(walk, k), walk)
    shapes = jax.eval_shape(stepwise.end, walk)

    def nothing(_):
        return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)

    return walk, jax.lax.cond(stop == stepwise.total, stepwise.end, nothing, walk)


def density_at_once(flow: Flow, problem: Problem, y, key, part: str) -> Solution:
    """A solve whose steps are chosen on the way."""
    field, values, directions = equation(flow, problem, y, key, part)
    return flow.solve(field, values, problem.t_min, directions)


def _stepwise(flow: Flow, problem: Problem, y, key, part: str):
    field, values, directions = equation(flow, problem, y, key, part)
    walk = flow.stepwise(field, values, problem.t_min, directions)
    assert walk is not None
    return walk
