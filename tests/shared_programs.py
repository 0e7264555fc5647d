"""Fewer compilations: JAX compiles a program again for every function that gives the same one."""

import hashlib
import io
from collections.abc import Callable
from typing import Any

from jax._src import compiler

NAME = "compile_or_get_cached"


class SharedPrograms:
    """Stands for `compile_or_get_cached`: equal modules and options give one executable."""

    def __init__(self, compile_module: Callable):
        """Programs that a function compiles."""
        self.compile_module, self.programs = compile_module, {}

    def __call__(self, backend: Any, module: Any, devices: Any, options: Any, *rest: Any) -> Any:
        """The program of a module; one that calls back into Python is never shared."""
        callbacks = rest[0]
        if callbacks:
            return self.compile_module(backend, module, devices, options, *rest)
        text = io.BytesIO()
        module.operation.write_bytecode(text)
        text.write(options.SerializeAsString())
        key = hashlib.sha256(text.getbuffer()).digest()
        if key not in self.programs:
            self.programs[key] = self.compile_module(backend, module, devices, options, *rest)
        return self.programs[key]


def share_programs() -> None:
    """From now on; where another release of JAX compiles otherwise, nothing changes."""
    found = getattr(compiler, NAME, None)
    if found is not None and not isinstance(found, SharedPrograms):
        setattr(compiler, NAME, SharedPrograms(found))


def forget_programs() -> None:
    """Let go of all programs, so that those no longer in use are freed."""
    found = getattr(compiler, NAME, None)
    if isinstance(found, SharedPrograms):
        found.programs.clear()
