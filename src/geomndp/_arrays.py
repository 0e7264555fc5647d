"""Arrays of JAX: from NumPy without a compilation per shape, and one value per point."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from geomndp._types import Array, Float, Times


def put(value: Any, dtype: Any = None) -> jax.Array:
    """Array of JAX with NumPy's numbers; `jnp.asarray` would compile a program for a new shape."""
    return jax.device_put(np.asarray(value, dtype))


def per_point(t: Times, n: int) -> Float[Array, " n"]:
    """One time per point; a scalar stands for all.

    Args:
        t: Times, a scalar or (n,).
        n: Number of points.

    Raises:
        ValueError: If t has another shape.
    """
    if jnp.shape(t) not in ((), (n,)):
        raise ValueError(f"expected t of shape () or ({n},), got shape {jnp.shape(t)}")
    return jnp.broadcast_to(t, (n,))
