"""Multi-head attention with a bias, and a mask over keys."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from geomndp import _validation
from geomndp._types import Array, Bool, Float, Inputs, Mask
from geomndp.linalg import zero_masked
from geomndp.nets.layers import same_function


def check_heads(width: int, num_heads: int) -> None:
    """Raise ValueError unless the width can be divided among the attention heads."""
    _validation.at_least(1, width=width, num_heads=num_heads)
    if width % num_heads:
        raise ValueError(f"expected a width divisible by num_heads={num_heads}, got {width}")


def attend(
    query: Float[Array, "b n h c"],
    key: Float[Array, "b m h c"],
    value: Float[Array, "b m h c"],
    *,
    bias: Float[Array, "h n m"] | None = None,
    mask: Mask | None = None,
    pairs: Bool[Array, "n m"] | None = None,
    backend: str | None = None,
) -> Float[Array, "b n h c"]:
    """Softmax attention; masked keys get no weight (equal weights where all are masked).

    Args:
        query: Queries of b sets of n tokens.
        key: Keys, of the same m = n tokens or of others.
        value: Values of these.
        bias: Added to the logits of all sets.
        mask: (n,). Points whose masks differ belong to different functions and do not see each
            other.
        pairs: Which keys (columns) a query (row) sees, in place of a mask: a directed one.
        backend: `implementation` of jax.nn.dot_product_attention, or "folded"; None for the latter
            on processors. Float64 is always folded.
    """
    pairs = same_function(mask) if pairs is None and mask is not None else pairs
    if _folds(query.dtype, backend):
        return _attend_folded(query, key, value, bias, pairs)
    keep = None if pairs is None else pairs[None, None]
    bias = None if bias is None else bias[None]
    if backend == "cudnn":  # wants full shapes and one dtype
        shape = (query.shape[0], query.shape[2], query.shape[1], key.shape[1])
        keep = None if keep is None else jnp.broadcast_to(keep, shape)
        bias = None if bias is None else jnp.broadcast_to(bias, shape).astype(query.dtype)
    with jax.numpy_dtype_promotion("standard"):  # bfloat16 inputs, float32 logits
        options: Any = {"implementation": backend}
        return jax.nn.dot_product_attention(query, key, value, bias, keep, **options)


def _folds(dtype: np.dtype, backend: str | None) -> bool:
    """Whether attention is folded: where it was chosen, and on processors unless it was not.

    In float64 always: jax.nn.dot_product_attention takes its softmax in float32 whatever comes in.
    """
    if dtype == jnp.float64 or backend == "folded":
        return True
    return backend is None and dtype == jnp.float32 and jax.default_backend() == "cpu"


def _attend_folded(
    query: Float[Array, "b n h c"],
    key: Float[Array, "b m h c"],
    value: Float[Array, "b m h c"],
    bias: Float[Array, "h n m"] | None,
    pairs: Bool[Array, "n m"] | None,
) -> Float[Array, "b n h c"]:
    """Attention for processors: mask and bias folded into one array, normalised at the end.

    Mask and bias do not depend on the values, so that under `vmap` over samples they are one array.
    Weights have their queries last: maxima and sums over the keys then run along contiguous rows.
    The division by the sum of the weights acts on the outputs, which are fewer than the weights.
    """
    logits = jnp.einsum("bjhc,bihc->bhji", key, query / math.sqrt(query.shape[-1]))
    if pairs is not None:
        plain = jnp.zeros((), logits.dtype) if bias is None else bias
        lowest = jnp.asarray(0.5 * jnp.finfo(logits.dtype).min, logits.dtype)
        bias = jnp.where(pairs[None], plain, lowest)
    if bias is not None:
        logits = logits + jnp.swapaxes(bias, 1, 2)[None]
    highest = jax.lax.stop_gradient(jnp.max(logits, axis=2, keepdims=True))
    weights = jnp.exp(logits - highest)
    mixed = jnp.einsum("bhji,bjhc->bhci", weights, value)
    return jnp.transpose(mixed / jnp.sum(weights, axis=2, keepdims=True), (0, 3, 1, 2))


def centred(x: Inputs, mask: Mask) -> Inputs:
    """Inputs relative to the centre of mass of the real points of their function."""
    # A reference point goes first: differences of nearby floats are exact, far means are not.
    lowest = jnp.finfo(x.dtype).min
    reference = jax.lax.stop_gradient(jnp.max(jnp.where(mask[:, None] > 0, x, lowest), axis=0))
    offsets = zero_masked(x - reference[None, :], mask)
    together = same_function(mask).astype(x.dtype)
    count = jnp.maximum(jnp.sum(together, axis=1), 1.0)
    centre = jnp.matmul(together, offsets, precision="highest") / count[:, None]
    return zero_masked(offsets - centre, mask)
