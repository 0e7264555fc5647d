"""Maps over points in blocks: memory of one block, whatever the number of points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

EDGES = 2**16  # slots of neighbours that one block holds at most, at least those of one point


def map_in_chunks(function: Callable[[Any], Any], rows: Any, size: int) -> Any:
    """Apply `function` to blocks of at most `size` rows, one after the other.

    Args:
        function: Takes arrays like `rows` with fewer rows and returns one array, or several, with
            as many rows; a row of the result depends on its own row alone.
        rows: Arrays that share their first axis.
        size: The most rows of a block; all rows at once if there are no more.

    Returns:
        What `function(rows)` gives, to rounding. Nothing of a block is kept for derivatives.
    """
    n = len(jax.tree.leaves(rows)[0])
    if n <= size:
        return function(rows)
    count = -(-n // size)
    height = -(-n // count)  # blocks alike, and less than one row per block of padding
    spare = count * height - n

    def cut(leaf):
        # Copies of the last row: whatever is computed for it is finite.
        padded = jnp.concatenate([leaf, jnp.repeat(leaf[-1:], spare, axis=0)]) if spare else leaf
        return padded.reshape(count, height, *leaf.shape[1:])

    made = jax.lax.map(jax.checkpoint(function), jax.tree.map(cut, rows))
    return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:])[:n], made)


def points_per_chunk(slots: int) -> int:
    """How many points with so many slots have `EDGES` together, at least one."""
    return max(EDGES // max(slots, 1), 1)
