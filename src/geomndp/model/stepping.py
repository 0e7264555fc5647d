"""Steps in stretches of about a second: between them Python has control, and sees Ctrl-C.

What is compiled is a stretch of steps of a block of samples, or of one of a log-density's solves.
The number of steps of a stretch, and which they are, are data: one program serves all of them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import jax
import jax.numpy as jnp

from geomndp._progress import quiet_at_first
from geomndp._types import Array
from geomndp.likelihood import Flow, Solution
from geomndp.model.likelihood_routes import equation
from geomndp.samplers import AbstractProgramSampler, Problem, Program, sample_keys
from geomndp.samplers.program import begin, end, outer_step

STRETCH_SECONDS, MAX_STEP_SECONDS = 1.0, 2.0
"""Seconds that a stretch of steps should take, and that one step may take."""

Progress = bool | Callable[[float], None]
"""True for a bar on a terminal, False for none, or a function called with the amount done."""


class Clock:
    """How many steps fit into a stretch, by how long those before took.

    `patient`: blocks were made smaller once for steps that took long, which compiles anew. On a
    busy machine they may take long again.
    """

    def __init__(self, patient: bool = False) -> None:
        """Nothing is known yet."""
        self.seconds: float | None = None
        self.patient = patient

    @property
    def slow(self) -> bool:
        """Whether a single step takes longer than it may."""
        return self.seconds is not None and self.seconds > MAX_STEP_SECONDS

    def stretch(self, left: int) -> int:
        """Steps of the next stretch: one to begin with."""
        if self.seconds is None:
            return 1
        return min(left, max(1, int(STRETCH_SECONDS / max(self.seconds, 1e-9))))

    def through(self, total: int, move: Callable[[int, int], Any]) -> Iterator[int]:
        """Make all steps by move(start, stop); yields the number of those that are done."""
        done = 0
        while done < total:
            stop = done + self.stretch(total - done)
            since = time.monotonic()
            jax.block_until_ready(move(done, stop))
            self.seconds = (time.monotonic() - since) / (stop - done)
            done = stop
            yield done


@contextmanager
def reporting(what: str, total: int, progress: Progress) -> Iterator[Callable[[float], None]]:
    """Yield report(done), which passes on the amount done: to a function, a bar, or nowhere."""
    if callable(progress):
        yield progress
    elif progress and sys.stderr.isatty() and find_spec("rich") is not None:
        with quiet_at_first(what, total) as update:
            yield update
    else:
        yield lambda done: None


def start_samples(
    sampler: AbstractProgramSampler, problem: Problem, key, first, count: int
) -> tuple[Any, list[Array]]:
    """States of the samples `first`, ..., `first` + `count` - 1, and what all their steps share.

    A state holds the values and the sizes after every step, none yet. Shared are the arrays that
    are costly to find (`_closed_over`), so that they are not found anew in every stretch.
    """
    program, dtype = sampler.program(problem), problem.x.dtype
    keys = sample_keys(key, count, first)
    values = jax.vmap(lambda key: begin(program, dtype, key=key))(keys)
    states = values, jnp.zeros((count, program.steps), dtype=dtype)
    return states, _closed_over(_stretch(program, dtype), problem, states, keys)[1]


def move_samples(
    sampler: AbstractProgramSampler,
    problem: Problem,
    key,
    first,
    count: int,
    states,
    shared: list[Array],
    start,
    stop,
) -> tuple[Any, tuple[Array, Array]]:
    """The states after the steps `start`, ..., `stop` - 1, and after the last of all the results.

    Results are the samples and their numbers of score evaluations.
    """
    program, dtype = sampler.program(problem), problem.x.dtype
    keys = sample_keys(key, count, first)
    stretch, _ = _closed_over(_stretch(program, dtype), problem, states, keys)
    return stretch(states, keys, start, stop, *shared)


def _stretch(program: Program, dtype):
    """Steps `start`, ..., `stop` - 1 of a block of samples, as a function of its state."""

    def stretch(states, keys, start, stop):
        def step(i, states):
            values, sizes = states
            values, rms = jax.vmap(lambda v, key: outer_step(program, v, i, dtype, key=key))(
                values, keys
            )
            return values, sizes.at[:, i].set(rms)

        def finish(states):
            return jax.vmap(lambda v, key: end(program, v, dtype, key=key))(states[0], keys)

        states = jax.lax.fori_loop(start, stop, step, states)
        return states, _if_last(stop == program.steps, finish, states)

    return stretch


def _closed_over(stretch, problem: Problem, states, keys) -> tuple[Callable, list[Array]]:
    """Make the arrays that a function closes over its further arguments; returns both.

    Roots and Cholesky factors of the limiting Gram matrices are such arrays. A white limiting
    kernel has no costly ones: nothing is passed on.
    """
    if problem.noising.kernel.white:
        return stretch, []
    zero = jnp.zeros((), jnp.int32)
    return jax.closure_convert(stretch, states, keys, zero, zero)


def _if_last(last, finish, state):
    """Result of `finish` after the last step, zeros before."""
    shapes = jax.eval_shape(finish, state)

    def nothing(_):
        return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)

    return jax.lax.cond(last, finish, nothing, state)


def start_density(flow: Flow, problem: Problem, y, key, part: str) -> Any:
    """Where a solve sets out from."""
    return _stepwise(flow, problem, y, key, part).begin()


def move_density(
    flow: Flow, problem: Problem, y, key, part: str, walk, start, stop
) -> tuple[Any, Solution]:
    """The solve after the steps `start`, ..., `stop` - 1, and after the last of all its result."""
    stepwise = _stepwise(flow, problem, y, key, part)
    walk = jax.lax.fori_loop(start, stop, lambda k, walk: stepwise.step(walk, k), walk)
    return walk, _if_last(stop == stepwise.total, stepwise.end, walk)


def density_at_once(flow: Flow, problem: Problem, y, key, part: str) -> Solution:
    """A solve whose steps are chosen on the way."""
    field, values, directions = equation(flow, problem, y, key, part)
    return flow.solve(field, values, problem.t_min, directions)


def _stepwise(flow: Flow, problem: Problem, y, key, part: str):
    field, values, directions = equation(flow, problem, y, key, part)
    walk = flow.stepwise(field, values, problem.t_min, directions)
    assert walk is not None
    return walk
