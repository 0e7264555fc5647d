"""Steps in stretches of about a second: between them Python has control, and sees Ctrl-C.

What is compiled is a stretch of steps of a block of samples, or of one of a log-density's solves.
The number of steps of a stretch, and which they are, are data: one program serves all of them.
Programs are kept within the memory that is free, or that a request allows.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from geomndp import _validation
from geomndp._arrays import bucket_below, memory_bound, too_much
from geomndp._progress import quiet_at_first
from geomndp.model._jit import CompiledProgram, setting
from geomndp.samplers import Problem

STRETCH_SECONDS, MAX_STEP_SECONDS = 1.0, 2.0
"""Seconds that a stretch of steps should take, and that one step may take."""

Progress = bool | Callable[[float], None]
"""True for a bar on a terminal, False for none, or a function called with the amount done."""


class Settings(NamedTuple):
    """How a request is carried out: the bytes that it may take, and how it reports progress."""

    max_memory: int | None = None
    progress: Progress = True


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


def if_last(last, finish, state):
    """Result of `finish` after the last step, zeros before."""
    shapes = jax.eval_shape(finish, state)

    def nothing(_):
        return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)

    return jax.lax.cond(last, finish, nothing, state)


def traced(tree: Any) -> bool:
    """Whether JAX is tracing any leaf, or compilation is disabled."""
    leaves = jax.tree.leaves(tree)
    return setting("jax_disable_jit") or not all(map(_validation.concrete, leaves))
