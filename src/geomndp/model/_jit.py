"""Compiled programs: few of them in memory, the costly ones on disk for the next process.

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
from typing import Any

import equinox as eqx
import jax
import numpy as np

MAX_PROGRAMS = 64
"""Programs that are kept."""


class CompiledProgram:
    """One compiled program, called with the arrays of its arguments."""

    def __init__(self, fn: Callable, dynamic: Any, static: Any):
        """Compile `fn` for arrays like these."""
        use_compilation_cache()
        jitted = jax.jit(lambda dynamic: fn(*eqx.combine(dynamic, static)))
        self._compiled = jitted.lower(dynamic).compile()

    def __call__(self, *args: Any) -> Any:
        """Run with other arrays of the same shapes."""
        return self._compiled(eqx.partition(args, is_array)[0])

    def memory(self) -> int:
        """Bytes that a run takes for what it makes, zero where that is not known."""
        analysis = self._compiled.memory_analysis()
        if analysis is None:
            return 0
        return int(analysis.temp_size_in_bytes + analysis.output_size_in_bytes)


def is_array(leaf: Any) -> bool:
    """Whether a leaf is data of a program, not part of it."""
    return isinstance(leaf, (jax.Array, np.ndarray, np.generic))


_programs: OrderedDict[Any, CompiledProgram] = OrderedDict()
_lock = threading.Lock()


def program(fn: Callable, *args: Any) -> CompiledProgram:
    """The program of `fn` for arguments like these, compiled unless it is still there."""
    dynamic, static = eqx.partition(args, is_array)
    key = (fn, *_structure(static), *_structure(dynamic, _kind), _surroundings())
    with _lock:
        cached = _programs.get(key)
        if cached is not None:
            _programs.move_to_end(key)
            return cached
    cached = CompiledProgram(fn, dynamic, static)
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


def _structure(tree: Any, describe: Callable = lambda leaf: leaf) -> tuple:
    leaves, structure = jax.tree.flatten(tree)
    return structure, tuple(describe(leaf) for leaf in leaves)


def _kind(leaf: Any) -> tuple:
    return leaf.shape, leaf.dtype, getattr(leaf, "sharding", None)


def _surroundings() -> tuple:
    names = ("enable_x64", "default_device", "default_matmul_precision")
    return tuple(setting(f"jax_{name}") for name in names)


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

    One for every kind of processor: a program of one may not run on another, and home folders are
    shared between machines.
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
    """Short name of the processor's kind."""
    words = [platform.machine(), platform.processor()]
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        kinds = ("model name", "flags", "features")
        words += sorted({line for line in lines if line.lower().startswith(kinds)})
    except OSError:
        pass
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:12]
