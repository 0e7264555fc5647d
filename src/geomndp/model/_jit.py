"""Compiled programs: bounded, few of them in memory.

A program is kept for every function, structure and shape that it was called with, the last used
ones only: each holds memory and memory maps, of which Linux grants a process 65,530 by default.
What JAX keeps besides is dropped where these become few.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from geomndp import _validation
from geomndp._arrays import bucket_below, memory_bound, too_much
from geomndp._progress import Progress
from geomndp.model._compilation_cache import setting, use_compilation_cache
from geomndp.samplers import Problem

MAX_PROGRAMS = 64
"""Programs that are kept."""
MAPS, MOST_MAPS = Path("/proc/self/maps"), Path("/proc/sys/vm/max_map_count")
MAX_SHARE = 0.5
"""Share of the process's memory maps above which all compiled programs are dropped."""


class CompiledProgram:
    """One compiled program, called with the arrays of its arguments."""

    def __init__(self, fn: Callable, *args: Any):
        """Compile `fn` for arguments like these."""
        use_compilation_cache()
        free_programs()
        leaves, structure = jax.tree.flatten(args)
        static = [None if is_array(leaf) else leaf for leaf in leaves]
        among = list(map(is_array, leaves))

        def of_arrays(arrays: list[Any]) -> Any:
            rest = iter(arrays)
            mixed = [next(rest) if a else leaf for a, leaf in zip(among, static, strict=True)]
            return fn(*jax.tree.unflatten(structure, mixed))

        self._compiled = jax.jit(of_arrays).lower(_arrays_of(args)).compile()
        self._memory = _memory(self._compiled.memory_analysis())

    def __call__(self, *args: Any) -> Any:
        """Run with other arrays of the same shapes."""
        return self._compiled(_arrays_of(args))

    def memory(self) -> int:
        """Bytes that a run takes for what it makes, zero where that is not known."""
        return self._memory


def _memory(analysis: Any) -> int:
    if analysis is None:
        return 0
    return int(analysis.temp_size_in_bytes + analysis.output_size_in_bytes)


def _arrays_of(args: tuple) -> list[Any]:
    return [leaf for leaf in jax.tree.leaves(args) if is_array(leaf)]


class Settings(NamedTuple):
    """How a request is carried out: the bytes that it may take, and how it reports progress."""

    max_memory: int | None = None
    progress: Progress = True


class Bound:
    """The bytes that one program may take."""

    def __init__(self, problem: Problem, settings: Settings):
        """As the settings say, for the device on which the problem is."""
        self.by_user = settings.max_memory is not None
        self.bytes = memory_bound(settings.max_memory, next(iter(problem.x.devices())))

    def exceeded(self, program: CompiledProgram, held: Any = None) -> bool:
        """Whether a program takes more, with arrays that it is given and that are held for it."""
        return program.memory() + num_bytes(held) > self.bytes

    def smaller(self, size: int, program: CompiledProgram, held: Any = None) -> int:
        """How many would fit, if a program for `size` of them takes too much with what is held."""
        need, other = program.memory(), num_bytes(held)
        if size == 1 or other >= self.bytes:
            raise too_much(need + other, self.bytes, self.by_user)
        return bucket_below(min(size - 1, max(1, size * (self.bytes - other) // max(need, 1))))


def num_bytes(tree: Any) -> int:
    """Bytes of all arrays of a tree."""
    return sum(leaf.nbytes for leaf in jax.tree.leaves(tree) if is_array(leaf))


def is_array(leaf: Any) -> bool:
    """Whether a leaf is data of a program, not part of it."""
    return isinstance(leaf, (jax.Array, np.ndarray, np.generic))


_programs: OrderedDict[Any, CompiledProgram] = OrderedDict()
_lock = threading.Lock()


def program(fn: Callable, *args: Any) -> CompiledProgram:
    """The program of `fn` for arguments like these, compiled unless it is still there."""
    key = (fn, signature(*args), _surroundings())
    with _lock:
        cached = _programs.get(key)
        if cached is not None:
            _programs.move_to_end(key)
            return cached
    cached = CompiledProgram(fn, *args)
    with _lock:
        _programs[key] = cached
        while len(_programs) > MAX_PROGRAMS:
            _programs.popitem(last=False)
    return cached


def num_programs() -> int:
    """Number of programs that are kept."""
    return len(_programs)


def forget_programs() -> None:
    """Drop all programs, with the memory that they hold."""
    with _lock:
        _programs.clear()


def free_programs() -> None:
    """Drop all programs, those of JAX too, where the process has few memory maps left.

    LLVM ends the process where there are none: after some ten fits, or hundreds of shapes. What is
    needed again is compiled again. Other threads may be compiling, so the main one alone drops.
    """
    in_main = threading.current_thread() is threading.main_thread()
    if in_main and _used_maps() > MAX_SHARE:
        forget_programs()
        jax.clear_caches()


def _used_maps() -> float:
    """Share of the memory maps that the process may have; zero where nothing tells."""
    try:
        return MAPS.read_bytes().count(b"\n") / int(MOST_MAPS.read_text())
    except (OSError, ValueError):
        return 0.0


def signature(*args: Any) -> tuple:
    """What a program of these arguments is compiled for: alike for those that can share one."""
    leaves, structure = jax.tree.flatten(args)
    return structure, tuple(_kind(leaf) if is_array(leaf) else leaf for leaf in leaves)


def _kind(leaf: Any) -> tuple:
    return leaf.shape, leaf.dtype, getattr(leaf, "sharding", None)


def _surroundings() -> tuple:
    names = ("enable_x64", "default_device", "default_matmul_precision")
    return tuple(setting(f"jax_{name}") for name in names)


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
