"""Samples and log-densities in blocks: bounded memory, progress, and interruption by Ctrl-C.

Numbers of points are rounded up to buckets, so that a new number does not compile a new program.
Samples are drawn in blocks that fit the memory; a block goes through its steps in stretches of
about a second. Neither changes a result by more than rounding, since the random draws of a sample,
a probe and a point depend on their numbers alone. Inside JAX's transformations, where there is
nothing to measure, all is one pure function.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from geomndp import _validation
from geomndp._arrays import bucket, bucket_below, memory_bound, put, too_much
from geomndp._types import Array, Mask, Outputs
from geomndp.likelihood import Flow, LogProb, Solution
from geomndp.model import likelihood_routes, stepping
from geomndp.model._jit import CompiledProgram, program, setting
from geomndp.model.likelihood_routes import solves
from geomndp.model.stepping import MAX_STEP_SECONDS, Clock, Progress, reporting
from geomndp.samplers import (
    AbstractProgramSampler,
    AbstractSampler,
    Info,
    Problem,
    Samples,
    pad_problem,
    pad_rows,
)
from geomndp.solve import AbstractFixedStepSolver

BLOCK_POINTS = {"cpu": 10_000}
DEFAULT_BLOCK_POINTS = 500_000
"""Points of all samples of a block together, beyond which larger blocks are not faster."""


class Settings(NamedTuple):
    """How a request is carried out: the bytes that it may take, and how it reports progress."""

    max_memory: int | None = None
    progress: Progress = True


@eqx.filter_jit
def draw(sampler: AbstractSampler, problem: Problem, key, num_samples: int) -> Samples:
    """Samples of a problem, compiled once per shape."""
    return sampler.draw(problem, key=key, num_samples=num_samples)


@eqx.filter_jit
def compiled_log_prob(
    flow: Flow, problem: Problem, y: Outputs, mask: Mask | None, key, route: str
) -> LogProb:
    """Log-density as `likelihood_routes.log_prob`, compiled once per shape."""
    return likelihood_routes.log_prob(flow, problem, y, mask, key, route)


def sample(
    sampler: AbstractSampler, problem: Problem, key: Any, num_samples: int, settings: Settings
) -> Samples:
    """Draw samples of a problem, in the model's units."""
    in_blocks = type(sampler).draw is AbstractProgramSampler.draw  # others have loops of their own
    if not in_blocks or traced((sampler, problem, key)):
        return draw(sampler, problem, key, num_samples)
    assert isinstance(sampler, AbstractProgramSampler)
    n = len(problem.x)
    if n == 0:
        return _no_samples(sampler, problem, num_samples)
    if sampler.pads and problem.score.pads:
        problem = pad_problem(problem, bucket(problem.num_observed), bucket(n))
    y, sizes, evaluations = _blocks(sampler, problem, key, num_samples, settings)
    _, _, times = problem.times(sampler.time_grid, sampler.steps)
    rms = np.sqrt(np.mean(sizes**2, axis=0))
    return Samples(put(y[:, :n]), Info(times, put(rms), put(evaluations)))


def _no_samples(sampler: AbstractProgramSampler, problem: Problem, num_samples: int) -> Samples:
    """Samples at no targets: there is nothing to compute."""
    _, _, times = problem.times(sampler.time_grid, sampler.steps)
    y = jnp.zeros((num_samples, 0, problem.noising.dim), problem.x.dtype)
    return Samples(y, Info(times, jnp.zeros_like(times), jnp.zeros(num_samples, jnp.int32)))


def _blocks(sampler, problem, key, num_samples, settings) -> tuple[np.ndarray, ...]:
    """Samples, their root mean squares after every step, and their score evaluations."""
    bound, clock = Bound(problem, settings), Clock()
    size, blocks, first = _first_size(problem, num_samples), [], 0
    with reporting("sampling", num_samples, settings.progress) as report:
        while first < num_samples:

            def update(share, first=first, size=size):
                report(min(first + size * share, num_samples))

            block = _block((sampler, problem, key, np.int32(first), size), bound, clock, update)
            if isinstance(block, int):
                size, clock = block, Clock(patient=clock.slow)
                continue
            blocks.append(block)
            first += size
    return tuple(np.concatenate(values)[:num_samples] for values in zip(*blocks, strict=True))


def _block(args: tuple, bound: Bound, clock: Clock, update) -> tuple[np.ndarray, ...] | int:
    """Results of one block, or how many samples would fit the memory and the time."""
    sampler, size, zero = args[0], args[-1], np.int32(0)
    start = program(stepping.start_samples, *args)
    if bound.exceeded(start):
        return bound.smaller(size, start)
    (states, shared), result = start(*args), None
    move = program(stepping.move_samples, *args, states, shared, zero, zero)
    if bound.exceeded(move):
        return bound.smaller(size, move)

    def advance(i: int, j: int):
        nonlocal states, result
        states, result = move(*args, states, shared, np.int32(i), np.int32(j))
        return result

    for done in clock.through(sampler.steps, advance):
        update(done / sampler.steps)
        if done == 1 < size and clock.slow and not clock.patient:
            return bucket_below(max(1, min(size - 1, int(size * MAX_STEP_SECONDS / clock.seconds))))
    assert result is not None
    y, evaluations = map(np.asarray, result)
    return y, np.asarray(states[1]), evaluations


def _first_size(problem: Problem, num_samples: int) -> int:
    """Samples of a block that keep a device busy, in blocks of one size."""
    points = max(1, problem.num_observed + len(problem.x))
    platform = next(iter(problem.x.devices())).platform
    most = BLOCK_POINTS.get(platform, DEFAULT_BLOCK_POINTS) // points
    count = -(-num_samples // bucket_below(max(1, most)))
    return bucket(-(-num_samples // count))


class Bound:
    """The bytes that one program may take."""

    def __init__(self, problem: Problem, settings: Settings):
        """As the settings say, for the device on which the problem is."""
        self.by_user = settings.max_memory is not None
        self.bytes = memory_bound(settings.max_memory, next(iter(problem.x.devices())))

    def exceeded(self, program: CompiledProgram) -> bool:
        """Whether a program takes more."""
        return program.memory() > self.bytes

    def smaller(self, size: int, program: CompiledProgram) -> int:
        """How many would fit, if a program for `size` of them takes too much."""
        if size == 1:
            raise too_much(program.memory(), self.bytes, self.by_user)
        return bucket_below(min(size - 1, max(1, size * self.bytes // program.memory())))


def log_prob(
    flow: Flow,
    problem: Problem,
    y: Outputs,
    mask: Mask | None,
    key: Any,
    route: str,
    settings: Settings,
) -> LogProb:
    """Log-density of y given a problem's observations, in the model's units."""
    if traced((flow, problem, y, mask, key)):
        return compiled_log_prob(flow, problem, y, mask, key, route)
    problem, n = dataclasses.replace(problem, mask=mask), len(problem.x)
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


def _solution(flow: Flow, args: tuple, bound: Bound, update) -> Solution:
    """One solve, with as many directional derivatives at a time as fit the memory."""
    zero = np.int32(0)
    if not isinstance(flow.solver, AbstractFixedStepSolver):
        return program(stepping.density_at_once, flow, *args)(flow, *args)
    walk = program(stepping.start_density, flow, *args)(flow, *args)
    move = program(stepping.move_density, flow, *args, walk, zero, zero)
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


def traced(tree: Any) -> bool:
    """Whether JAX is tracing any leaf, or compilation is disabled."""
    leaves = jax.tree.leaves(tree)
    return setting("jax_disable_jit") or not all(map(_validation.concrete, leaves))


def finite_samples(samples: Samples) -> Array:
    """Values of the samples; a NaN or infinity is an error that says when it came."""
    if not _validation.concrete(samples.y) or np.all(np.isfinite(np.asarray(samples.y))):
        return samples.y
    bad = np.flatnonzero(~np.isfinite(np.asarray(samples.info.rms)))
    if bad.size:
        step, time = int(bad[0]), float(samples.info.times[bad[0]])
        where = f"at step {step + 1} of {len(samples.info.rms)} (time {time:.3g})"
    else:
        where = "at the end"
    raise FloatingPointError(f"the sampled values became NaN or infinite {where}")


def finite_log_prob(result: LogProb) -> LogProb:
    """The result; a NaN or infinity is an error."""
    if _validation.concrete(result.value) and not bool(jnp.isfinite(result.value)):
        raise FloatingPointError(
            f"the log-density became {float(result.value)} along the flow from t_min to 1; "
            "the values may lie far outside what the model knows, or the steps may be too few"
        )
    return result
