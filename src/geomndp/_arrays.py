"""Arrays of JAX without a compilation per shape: transfers from NumPy, padded sizes."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np


def put(value: Any, dtype: Any = None) -> jax.Array:
    """Array of JAX with NumPy's numbers; `jnp.asarray` would compile a program for a new shape."""
    return jax.device_put(np.asarray(value, dtype))


def bucket(n: int) -> int:
    """Padded size: the smallest of 0, 1, 2, 3, 4, 6, 8, 12, 16, 24, ... that is at least n.

    Two sizes per doubling: at most a third of a padded array is padding, and up to n there are
    about 2 log2(n) sizes.
    """
    if n <= 4:
        return n
    power = 1 << (n - 1).bit_length()  # the next power of two
    return 3 * power // 4 if n <= 3 * power // 4 else power


def bucket_below(n: int) -> int:
    """Largest of the same sizes that is at most n."""
    size = bucket(n)
    while size > n:
        size = bucket(size * 2 // 3) if bucket(size * 2 // 3) < size else size - 1
    return size
