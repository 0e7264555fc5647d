"""Compiled programs: bounded, few of them in memory, the costly ones on disk for the next process.

A program is kept for every function, structure and shape that it was called with, the last used
ones only: each holds memory and memory maps, of which Linux grants a process 65,530 by default.

On disk it is JAX's persistent compilation cache, in the user's cache folder
(`$XDG_CACHE_HOME/geomndp/xla`) unless the environment variable GEOMNDP_COMPILATION_CACHE names
another folder or says "off". A folder that JAX was set to use already, by
`jax_compilation_cache_dir`, stays.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import sys
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
from geomndp.samplers import Problem

MAX_PROGRAMS = 64
"""Programs that are kept."""


class CompiledProgram:
    """One compiled program, called with the arrays of its arguments."""

    def __init__(self, fn: Callable, *args: Any):
        """Compile `fn` for arguments like these."""
        use_compilation_cache()
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


VARIABLE = "GEOMNDP_COMPILATION_CACHE"
OFF = ("off", "0", "no", "false")


@functools.cache  # once in a process
def use_compilation_cache() -> None:
    """Let JAX keep what takes long to compile."""
    folder = cache_folder()
    if folder is None or setting("jax_compilation_cache_dir") is not None:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return
    if os.access(folder, os.W_OK):
        jax.config.update("jax_compilation_cache_dir", str(folder))


def setting(name: str) -> Any:
    """Setting of JAX."""
    return getattr(jax.config, name)


def cache_folder() -> Path | None:
    """Folder of compiled programs, None where there shall be none.

    One for every kind of processor and number of threads: a program of one kind may not run on
    another, home folders are shared between machines, and a program that was compiled for one
    thread runs in one wherever it is loaded.
    """
    chosen = os.environ.get(VARIABLE, "")
    if chosen.strip().lower() in OFF:
        return None
    if chosen.strip():
        return Path(chosen).expanduser()
    try:
        return _user_cache() / "geomndp" / "xla" / _processor()
    except RuntimeError:  # there is no home
        return None


def _user_cache() -> Path:
    if os.environ.get("XDG_CACHE_HOME"):
        return Path(os.environ["XDG_CACHE_HOME"])
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    if sys.platform == "win32" and os.environ.get("LOCALAPPDATA"):
        return Path(os.environ["LOCALAPPDATA"])
    return Path.home() / ".cache"


def _processor() -> str:
    """Short name of the processor's kind and of the number of threads."""
    words = [platform.machine(), platform.processor(), _num_threads()]
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        kinds = ("model name", "flags", "features")
        words += sorted({line for line in lines if line.lower().startswith(kinds)})
    except OSError:
        pass
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:12]


def _num_threads() -> str:
    """Threads that XLA takes: those that NPROC names, else one per core that this process has."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return os.environ.get("NPROC", "") or str(cores)
