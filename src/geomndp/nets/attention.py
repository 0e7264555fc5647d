"""Multi-head attention, with an additive bias and a mask over keys."""

from __future__ import annotations

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp._types import Array, Float, Mask, PRNGKeyArray
from geomndp.nets.layers import linear, same_function


def attend(
    query: Float[Array, "b n h c"],
    key: Float[Array, "b n h c"],
    value: Float[Array, "b n h c"],
    *,
    bias: Float[Array, "h n n"] | None = None,
    mask: Mask | None = None,
    backend: str | None = None,
) -> Float[Array, "b n h c"]:
    """Softmax attention; masked keys get no weight (equal weights where all are masked).

    Args:
        query: Queries of b sets of n tokens.
        key: Keys.
        value: Values.
        bias: Added to the logits of all sets.
        mask: (n,). Points whose masks differ belong to different functions and do not see each
            other.
        backend: `implementation` of jax.nn.dot_product_attention; not used in float64.
    """
    keep = None if mask is None else same_function(mask)[None, None]
    bias = None if bias is None else bias[None]
    if query.dtype == jnp.float64:
        return _attend_in_float64(query, key, value, bias, keep)
    if backend == "cudnn":  # wants full shapes and one dtype
        sets, n, heads, _ = query.shape
        shape = (sets, heads, n, n)
        keep = None if keep is None else jnp.broadcast_to(keep, shape)
        bias = None if bias is None else jnp.broadcast_to(bias, shape).astype(query.dtype)
    with jax.numpy_dtype_promotion("standard"):  # bfloat16 inputs, float32 logits
        options: Any = {"implementation": backend}
        return jax.nn.dot_product_attention(query, key, value, bias, keep, **options)


def _attend_in_float64(query, key, value, bias, keep):
    # jax.nn.dot_product_attention takes its softmax in float32 whatever comes in.
    logits = jnp.einsum("bihc,bjhc->bhij", query, key) / math.sqrt(query.shape[-1])
    logits = logits if bias is None else logits + jnp.broadcast_to(bias, logits.shape)
    lowest = 0.5 * jnp.finfo(logits.dtype).min
    logits = logits if keep is None else jnp.where(keep, logits, lowest)
    return jnp.einsum("bhij,bjhc->bihc", jax.nn.softmax(logits, axis=-1), value)


class SelfAttention(eqx.Module):
    """Attention of n tokens to each other, each of b sets on its own.

    Args:
        width: Channels of the tokens.
        inner: Channels of queries, keys, values and outputs, divided among the heads.
        heads: Number of heads.
        dtype: Dtype of the parameters.
        key: Random key.
    """

    project: eqx.nn.Linear
    merge: eqx.nn.Linear
    num_heads: int = eqx.field(static=True)

    def __init__(self, width: int, inner: int, heads: int, *, dtype: str, key: PRNGKeyArray):
        project_key, merge_key = jr.split(key)
        self.project = eqx.nn.Linear(width, 3 * inner, use_bias=False, dtype=dtype, key=project_key)
        self.merge = eqx.nn.Linear(inner, inner, use_bias=False, dtype=dtype, key=merge_key)
        self.num_heads = heads

    def __call__(
        self,
        tokens: Float[Array, "b n c"],
        *,
        bias: Float[Array, "h n n"] | None = None,
        mask: Mask | None = None,
        backend: str | None = None,
    ) -> Float[Array, "b n o"]:
        """Return one vector per token; arguments as those of `attend`."""
        sets, n, _ = tokens.shape
        split = jnp.split(linear(self.project, tokens), 3, axis=-1)
        query, key, value = (part.reshape(sets, n, self.num_heads, -1) for part in split)
        mixed = attend(query, key, value, bias=bias, mask=mask, backend=backend)
        return linear(self.merge, mixed.reshape(sets, n, -1))
