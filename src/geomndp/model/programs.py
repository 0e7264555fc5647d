"""Compiled programs, few of them at a time.

A program is kept for every function, structure and shape that it was called with, the last used
ones only: each holds memory and memory maps, of which Linux grants a process 65,530 by default.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import numpy as np

from geomndp.model.cache import setting, use_compilation_cache

MOST = 64
"""Programs that are kept."""


class Program:
    """One compiled program, called with the arrays of its arguments."""

    def __init__(self, fn: Callable, dynamic: Any, static: Any):
        """Compile `fn` for arrays like these."""
        use_compilation_cache()
        whole = jax.jit(lambda dynamic: fn(*eqx.combine(dynamic, static)))
        self._compiled = whole.lower(dynamic).compile()

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


_programs: OrderedDict[Any, Program] = OrderedDict()
_lock = threading.Lock()


def program(fn: Callable, *args: Any) -> Program:
    """The program of `fn` for arguments like these, compiled unless it is still there."""
    dynamic, static = eqx.partition(args, is_array)
    key = (fn, *_structure(static), *_structure(dynamic, _kind), _surroundings())
    with _lock:
        found = _programs.get(key)
        if found is not None:
            _programs.move_to_end(key)
            return found
    found = Program(fn, dynamic, static)
    with _lock:
        _programs[key] = found
        while len(_programs) > MOST:
            _programs.popitem(last=False)
    return found


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
