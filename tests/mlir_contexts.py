"""Fewer MLIR contexts: JAX makes one for every program it lowers, 4 ms and a megabyte each."""

from collections.abc import Callable

from jax._src.interpreters import mlir

PROGRAMS = 300  # of one context, which keeps their constants as long as one of them is kept


class SharedContext:
    """Stands for `make_ir_context`: the same context for many programs in a row."""

    def __init__(self, make: Callable):
        """Contexts that a function makes."""
        self.make, self.context, self.count = make, None, 0

    def __call__(self):
        """A context for one more program."""
        if self.context is None or self.count == PROGRAMS:
            self.context, self.count = self.make(), 0
        self.count += 1
        return self.context


def share_contexts() -> None:
    """From now on; where another release of JAX makes its contexts otherwise, nothing changes."""
    make = getattr(mlir, "make_ir_context", None)
    if make is not None and not isinstance(make, SharedContext):
        mlir.make_ir_context = SharedContext(make)
