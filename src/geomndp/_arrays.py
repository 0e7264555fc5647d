"""Arrays of JAX without a compilation per shape: transfers from NumPy, padded sizes."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np


def put(value: Any, dtype: Any = None) -> jax.Array:
    """Array of JAX with NumPy's numbers; `jnp.asarray` would compile a program for a new shape."""
    return jax.device_put(np.asarray(value, dtype))


MANY = 64
"""Points from which on there are more sizes: padding costs more there than a compilation."""


def bucket(n: int) -> int:
    """Padded size: the smallest of 0, 1, 2, 3, 4, 6, 8, 12, ..., 48, 64, 80, 96, ... that holds n.

    Two sizes per doubling up to 64, at most a third of which is padding; four above, at most a
    fifth. Up to n > 64 there are about 4 log2(n) - 12 sizes.
    """
    if n <= 4:
        return n
    step = _step((n - 1).bit_length() - 1)
    return -(-n // step) * step


def bucket_below(n: int) -> int:
    """Largest of the same sizes that is at most n."""
    if n <= 4:
        return n
    step = _step(n.bit_length() - 1)
    return n // step * step


def _step(exponent: int) -> int:
    """Distance between the sizes from 2^exponent to twice that."""
    power = 1 << exponent
    return power // (4 if power >= MANY else 2)
