"""Calls of NumPy functions from compiled programs, in full precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def call_on_host(function: Callable[..., Any], shapes: Any, *arrays: jax.Array) -> Any:
    """Call a pure function of NumPy arrays; works under `jit`, and under `vmap` one by one.

    Numbers of 64 bits travel as pairs of words: callbacks run in a thread of their own, where
    `jax.enable_x64` of the caller does not hold and floats would be rounded.

    Args:
        function: Maps NumPy arrays to a tree of arrays.
        shapes: The same tree of `jax.ShapeDtypeStruct`.
        *arrays: Arguments.

    Returns:
        What the function returns, in the types of `shapes`.
    """
    words = [_split(array) if array.dtype == np.float64 else array for array in arrays]
    dtypes = [array.dtype for array in arrays]

    def call(*words):
        values = (_join(np.asarray(v), d) for v, d in zip(words, dtypes, strict=True))
        return jax.tree.map(_encode, function(*values), shapes)

    results = jax.pure_callback(call, jax.tree.map(_wire, shapes), *words, vmap_method="sequential")
    return jax.tree.map(_decode, results, shapes)


def _wire(shape: jax.ShapeDtypeStruct) -> jax.ShapeDtypeStruct:
    wide = shape.dtype == np.float64
    return jax.ShapeDtypeStruct((*shape.shape, 2), np.uint32) if wide else shape


def _encode(value: Any, shape: jax.ShapeDtypeStruct) -> np.ndarray:
    array = np.ascontiguousarray(value, shape.dtype).reshape(shape.shape)
    return array[..., None].view(np.uint32) if shape.dtype == np.float64 else array


def _decode(words: jax.Array, shape: jax.ShapeDtypeStruct) -> jax.Array:
    wide = shape.dtype == np.float64
    return jax.lax.bitcast_convert_type(words, jnp.float64) if wide else words


def _split(array: jax.Array) -> jax.Array:
    return jax.lax.bitcast_convert_type(array, jnp.uint32)


def _join(words: np.ndarray, dtype: Any) -> np.ndarray:
    return np.ascontiguousarray(words).view(np.float64)[..., 0] if dtype == np.float64 else words
