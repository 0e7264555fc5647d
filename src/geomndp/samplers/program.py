"""A sampler as a program: explicit state, explicit noise, one scan.

Every step is a deterministic function of (state, white noise). Running a program draws that noise;
`geomndp.law` pushes a Gaussian law through the very same functions instead.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp._types import Array, Float, Outputs, PRNGKeyArray

State = Any
Shapes = tuple[tuple[int, ...], ...]
Noise = tuple[Array, ...]


class Phase(NamedTuple):
    """A step that is repeated, with fresh noise of the given shapes each time."""

    step: Callable[[State, Any, Noise], State]
    noise: Shapes
    repeats: int = 1


class Program(NamedTuple):
    """Start, then for every row of `inputs` all phases in turn, then the result.

    The phases of `last` come once more after that, with the last row.
    `evaluations` is the cost of the whole in score evaluations, a vector-Jacobian product
    counting as two.
    """

    init: Callable[[Noise], State]
    init_noise: Shapes
    phases: tuple[Phase, ...]
    inputs: Any
    finish: Callable[[State], Outputs]
    evaluations: int
    last: tuple[Phase, ...] = ()


class Info(NamedTuple):
    """What happened on the way: root mean square of the values after every outer step."""

    times: Float[Array, " steps"]
    rms: Float[Array, " steps"]


def normals(shapes: Shapes, dtype, *, key: PRNGKeyArray) -> Noise:
    """White noise of several shapes."""
    keys = jr.split(key, max(len(shapes), 1))
    return tuple(jr.normal(k, shape, dtype=dtype) for k, shape in zip(keys, shapes, strict=False))


def run(program: Program, dtype, *, key: PRNGKeyArray) -> tuple[Outputs, Array]:
    """Draw one sample; also the root mean square of the state's result after every outer step."""
    init_key, loop_key = jr.split(key)
    state = program.init(normals(program.init_noise, dtype, key=init_key))

    def outer(state, row):
        inputs, key = row
        state = _through(program.phases, state, inputs, dtype, key=key)
        return state, jnp.sqrt(jnp.mean(program.finish(state) ** 2))

    steps = len(jax.tree.leaves(program.inputs)[0])
    state, rms = jax.lax.scan(outer, state, (program.inputs, jr.split(loop_key, steps)))
    if program.last:
        inputs = jax.tree.map(lambda rows: rows[-1], program.inputs)
        last_key = jr.fold_in(loop_key, steps)
        state = _through(program.last, state, inputs, dtype, key=last_key)
    return program.finish(state), rms


def _through(phases: tuple[Phase, ...], state, inputs, dtype, *, key: PRNGKeyArray) -> State:
    for phase, phase_key in zip(phases, jr.split(key, len(phases)), strict=True):

        def inner(state, key, phase=phase):
            return phase.step(state, inputs, normals(phase.noise, dtype, key=key)), None

        state, _ = jax.lax.scan(inner, state, jr.split(phase_key, phase.repeats))
    return state
