"""Samples in blocks: bounded memory, progress, and interruption by Ctrl-C.

Numbers of points are rounded up to buckets, so that a new number does not compile a new program.
Samples are drawn in blocks that fit the memory; a block goes through its steps in stretches of
about a second. Neither changes a result by more than rounding, since the random draws of a sample
and a point depend on their numbers alone. Inside JAX's transformations, where there is nothing to
measure, all is one pure function.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from geomndp import _validation
from geomndp._arrays import bucket, bucket_below, put, spread_devices, spread_rows, whole_rows
from geomndp._progress import MAX_STEP_SECONDS, Clock, reporting
from geomndp._types import Array
from geomndp.model._jit import Bound, Settings, if_last, program, traced
from geomndp.model.inputs import check_request, wanted_values
from geomndp.model.outside_training import warn_about_targets
from geomndp.model.sample_options import check_num_samples
from geomndp.model.units import read_target_inputs
from geomndp.samplers import (
    AbstractProgramSampler,
    AbstractSampler,
    Info,
    Problem,
    Program,
    Samples,
    pad_problem,
)
from geomndp.samplers.base import require_outputs_apart
from geomndp.samplers.problem import prepare_score
from geomndp.samplers.program import begin, each_key, end, outer_step

BLOCK_POINTS = {"cpu": 10_000}
DEFAULT_BLOCK_POINTS = 500_000
"""Points of all samples of a block together, beyond which larger blocks are not faster."""


def sampling_problem(
    posterior: Any,
    x: Any,
    key: Any,
    num_samples: Any,
    sampler: AbstractSampler | None = None,
    mask: Any = None,
) -> tuple[AbstractSampler, Problem]:
    """Check a request, and warn where it leaves what training saw.

    Args:
        posterior: A `Posterior`.
        x: Inputs, shape (n, d) or (n,), or a table.
        key: Random key.
        num_samples: Number of draws.
        sampler: Sampler, by default that of the posterior.
        mask: 1 for targets, 0 for padding, shape (n,) or (n, p).

    Returns:
        The sampler, and the problem in the model's units.
    """
    chosen: AbstractSampler = posterior.default_sampler() if sampler is None else sampler
    check_request(num_samples, chosen, key)
    x, model = read_target_inputs(posterior, x), posterior.model
    check_num_samples(num_samples, len(x), model.noising.dim)
    mask = wanted_values(mask, (len(x), model.noising.dim), model.score.num_groups)
    problem = posterior.problem(x, mask)
    if problem.observed_apart:
        require_outputs_apart(chosen)
    chosen.check(problem)
    warn_about_targets(posterior, problem.x)
    return chosen, problem


@eqx.filter_jit
def draw(sampler: AbstractSampler, problem: Problem, key, num_samples: int) -> Samples:
    """Samples of a problem, compiled once per shape."""
    return sampler.draw(problem, key=key, num_samples=num_samples)


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
    times = problem.times(sampler.time_grid, sampler.steps)[2]
    y = jnp.zeros((num_samples, 0, problem.noising.dim), problem.x.dtype)
    return Samples(y, Info(times, jnp.zeros_like(times), jnp.zeros(num_samples, jnp.int32)))


def _blocks(sampler, problem, key, num_samples, settings) -> tuple[np.ndarray, ...]:
    """Samples, their root mean squares after every step, and their score evaluations."""
    bound, clock = Bound(problem, settings), Clock(progress=settings.progress)
    devices = spread_devices(sampler, problem, key)[:num_samples]
    size, blocks, first = _first_size(problem, num_samples, len(devices)), [], 0
    with reporting("sampling", num_samples, settings.progress) as report:
        while first < num_samples:

            def update(share, first=first, size=size):
                report(min(first + size * share, num_samples))

            numbers = np.arange(first, first + whole_rows(size, devices), dtype=np.int32)
            args = sampler, problem, key, spread_rows(numbers, devices)
            block = _block(args, size, devices, bound, clock, update)
            if isinstance(block, int):
                size, clock = block, Clock(clock.slow, settings.progress)
                continue
            blocks.append(block)
            first += len(numbers)
    return tuple(np.concatenate(values)[:num_samples] for values in zip(*blocks, strict=True))


def _block(
    args: tuple, size: int, devices: list, bound: Bound, clock: Clock, update
) -> tuple[np.ndarray, ...] | int:
    """Results of one block, or how many samples would fit the memory and the time."""
    sampler, zero = args[0], np.int32(0)
    start = program(start_samples, *args)
    if bound.exceeded(start):
        return bound.smaller(size, start)
    (states, shared), result = start(*args), None
    states = spread_rows(states, devices)  # not as the compiler has chosen
    move = program(move_samples, *args, states, shared, zero, zero)
    if bound.exceeded(move, shared):
        return bound.smaller(size, move, shared)

    def advance(i: int, j: int):
        nonlocal states, result
        states, result = move(*args, states, shared, np.int32(i), np.int32(j))
        states = spread_rows(states, devices)
        return result

    for done in clock.through(sampler.steps, advance):
        update(done / sampler.steps)
        if done == 1 < size and clock.slow and not clock.patient:
            assert clock.seconds is not None
            return bucket_below(max(1, min(size - 1, int(size * MAX_STEP_SECONDS / clock.seconds))))
    assert result is not None
    y, evaluations = map(np.asarray, result)
    return y, np.asarray(states[1]), evaluations


def _first_size(problem: Problem, num_samples: int, num_devices: int) -> int:
    """Samples of a block that keep the devices busy, in blocks of one size."""
    points = max(1, problem.num_observed + len(problem.x))
    platform = next(iter(problem.x.devices())).platform
    most = num_devices * BLOCK_POINTS.get(platform, DEFAULT_BLOCK_POINTS) // points
    count = -(-num_samples // bucket_below(max(1, most)))
    return bucket(-(-num_samples // count))


def start_samples(
    sampler: AbstractProgramSampler, problem: Problem, key, numbers
) -> tuple[Any, tuple[Any, list[Array]]]:
    """States of the samples of these numbers, and what all their steps share.

    A state holds the values and the sizes after every step, none yet. Shared is what is costly to
    find, once for all stretches: what the score knows of the points, and roots (`_closed_over`).
    """
    prepared, dtype = prepare_score(problem), problem.x.dtype
    program = sampler.program(dataclasses.replace(problem, prepared=prepared))
    keys = each_key(key, numbers)
    values = jax.vmap(lambda key: begin(program, dtype, key=key))(keys)
    states = values, jnp.zeros((len(numbers), program.steps), dtype=dtype)
    roots = _closed_over(_stretch(program, dtype), problem, states, keys)[1]
    return states, (prepared, roots)


def move_samples(
    sampler: AbstractProgramSampler,
    problem: Problem,
    key,
    numbers,
    states,
    shared: tuple[Any, list[Array]],
    start,
    stop,
) -> tuple[Any, tuple[Array, Array]]:
    """States after steps `start`, ..., `stop` - 1; after the last, samples and evaluations."""
    (prepared, roots), dtype = shared, problem.x.dtype
    program = sampler.program(dataclasses.replace(problem, prepared=prepared))
    keys = each_key(key, numbers)
    stretch, _ = _closed_over(_stretch(program, dtype), problem, states, keys)
    return stretch(states, keys, start, stop, *roots)


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
        return states, if_last(stop == program.steps, finish, states)

    return stretch


def _closed_over(stretch, problem: Problem, states, keys) -> tuple[Callable, list[Array]]:
    """Make the arrays that a function closes over its further arguments; returns both.

    Such are roots and Cholesky factors of limiting Gram matrices; a white kernel has no costly one.
    """
    if problem.noising.kernel.white:
        return stretch, []
    zero = jnp.zeros((), jnp.int32)
    return jax.closure_convert(stretch, states, keys, zero, zero)


def finite_samples(samples: Samples) -> Array:
    """Values of the samples; a NaN or infinity is an error that says when it came."""
    if not _validation.concrete(samples.y) or np.all(np.isfinite(np.asarray(samples.y))):
        return samples.y
    where, bad = "at the end", np.flatnonzero(~np.isfinite(np.asarray(samples.info.rms)))
    if bad.size:
        step, time = int(bad[0]), float(samples.info.times[bad[0]])
        where = f"at step {step + 1} of {len(samples.info.rms)} (time {time:.3g})"
    raise FloatingPointError(f"the sampled values became NaN or infinite {where}")
