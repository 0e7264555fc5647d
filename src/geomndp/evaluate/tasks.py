"""How tasks are handed to a process: what is context, what is target, what all tasks share."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from geomndp import _validation
from geomndp._types import Array, Batch, Inputs
from geomndp.linalg import columns, row_mask
from geomndp.model.point_distances import refuse_coarse

ADVICE = "subtract a common origin, or set jax_enable_x64"
"""What helps where a batch has inputs of more digits than JAX's floats."""


class ContextAndTargets(NamedTuple):
    """One task: arrays of the context, then of the targets; a mask is None where all rows count."""

    context_x: Array
    context_y: Array
    context_mask: Array | None
    x: Array
    y: Array
    mask: Array | None

    def num_targets(self) -> Array:
        """Number of targets with a real value."""
        rows = row_mask(self.mask)
        return jnp.asarray(len(self.x), self.x.dtype) if rows is None else jnp.sum(rows)

    def real_values(self) -> Array:
        """1 for target values that are there, 0 for others, shape (n, p)."""
        mask = jnp.ones(len(self.x), self.y.dtype) if self.mask is None else self.mask
        return jnp.broadcast_to(columns(mask, self.y.shape[1]), self.y.shape)


class TaskLayout(eqx.Module):
    """Where the tasks of a batch have their context.

    Attributes:
        x: Inputs that all tasks have in common, shape (n, d), else None.
        num_context: The first so many rows are the context; None: any rows, as marked.
        context_masked: Whether any row of the context is padding.
        targets_masked: Whether any target is padding.
    """

    x: Inputs | None
    num_context: int | None = eqx.field(static=True)
    context_masked: bool = eqx.field(static=True)
    targets_masked: bool = eqx.field(static=True)

    def split(self, task: tuple[Any, ...]) -> ContextAndTargets:
        """Take one task (x or None, y, mask, context) apart."""
        own_x, y, mask, context = task
        x: Any = self.x if own_x is None else own_x
        c = self.num_context
        if c is None:
            return ContextAndTargets(x, y, mask * context, x, y, mask * (1.0 - context))
        context_mask = context[:c] if self.context_masked else None
        target_mask = mask[c:] if self.targets_masked else None
        return ContextAndTargets(x[:c], y[:c], context_mask, x[c:], y[c:], target_mask)


def arrange(tasks: Batch, num_context: int | None) -> tuple[TaskLayout, tuple[Any, ...]]:
    """Find what tasks have in common.

    Args:
        tasks: Functions with their context, concrete arrays.
        num_context: The first so many rows of every task are its context, padded where `context`
            is 0, and the others its targets. None: the rows marked by `context` are.

    Returns:
        The layout, and the arrays that differ from task to task: x (None if common), y, mask,
        context.

    Raises:
        ValueError: If the context lies elsewhere, or inputs have more digits than JAX's floats.
    """
    x, mask, context = (np.asarray(v) for v in (tasks.x, tasks.mask, tasks.context))
    common = np.array_equal(x, np.broadcast_to(x[:1], x.shape))
    dtype = jax.dtypes.canonicalize_dtype(x.dtype)
    rows = np.asarray(mask.reshape(*x.shape[:2], -1).any(axis=2))
    for own, real in zip(x[:1] if common else x, rows, strict=False):
        refuse_coarse(own if common else own[real], dtype, ADVICE)
    c = num_context
    if c is not None:
        _validation.at_least(0, num_context=c)
        if c > x.shape[1] or np.any(context[:, c:] > 0):
            raise ValueError(f"expected the context in the first {c} rows, got it elsewhere")
    layout = TaskLayout(
        tasks.x[0] if common else None,
        c,
        c is not None and bool(np.any(context[:, :c] == 0)),
        c is not None and bool(np.any(mask[:, c:] == 0)),
    )
    return layout, (None if common else tasks.x, tasks.y, tasks.mask, tasks.context)
