"""Functions of many rows, a block of them at a time, where all of them need too much memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from geomndp._types import Array

BLOCK = 2048
"""Rows of a block: a matrix of all pairs of these has 32 MB in double precision."""


def by_blocks(function: Callable[[Array], Any], x: Array, size: int = BLOCK) -> Any:
    """Results of a function that takes every row by itself, though rows share their work.

    Args:
        function: From rows (m, d) to arrays (m, ...), one or several.
        x: Rows, shape (n, d).
        size: Most rows at once.

    Returns:
        Arrays (n, ...).
    """
    if len(x) <= size:
        return function(x)
    padded = jnp.pad(x, ((0, -len(x) % size), (0, 0)), mode="edge")
    blocks = jax.lax.map(function, padded.reshape(-1, size, x.shape[1]))
    return jax.tree.map(lambda part: part.reshape(-1, *part.shape[2:])[: len(x)], blocks)
