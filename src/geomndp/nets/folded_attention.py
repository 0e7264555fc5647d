"""Softmax attention for processors: mask and bias folded into one array, normalised at the end.

Mask and bias do not depend on the values, so that under `vmap` over samples they are one array, and
the division by the sum of the weights acts on the outputs, which are fewer than the weights.
"""

from __future__ import annotations

import math
from typing import TypeVar

import jax
import jax.numpy as jnp

from geomndp._types import Array, Bool, Float
from geomndp.nets.base import AbstractNet
from geomndp.nets.changed_config import with_config

Tree = TypeVar("Tree")
MASKED = -1e9  # a logit that gets no weight, and equal weights where all have it


def attend_folded(
    query: Float[Array, "b n h c"],
    key: Float[Array, "b m h c"],
    value: Float[Array, "b m h c"],
    bias: Float[Array, "h n m"] | None,
    pairs: Bool[Array, "n m"] | None,
) -> Float[Array, "b n h c"]:
    """Softmax attention, equal to that of `attend` to rounding.

    Args:
        query: Queries of b sets of n tokens.
        key: Keys of m tokens.
        value: Values of these.
        bias: Added to the logits of all sets.
        pairs: Which keys (columns) a query (row) sees; None for all.
    """
    logits = jnp.einsum("bihc,bjhc->bhij", query / math.sqrt(query.shape[-1]), key)
    if pairs is not None:
        plain = jnp.zeros((), logits.dtype) if bias is None else bias
        bias = jnp.where(pairs[None], plain, jnp.asarray(MASKED, logits.dtype))
    if bias is not None:
        logits = logits + bias[None]
    weights = jnp.exp(logits - jnp.max(logits, axis=-1, keepdims=True))
    mixed = jnp.einsum("bhij,bjhc->bhic", weights, value)
    return jnp.swapaxes(mixed / jnp.sum(weights, axis=-1, keepdims=True), 1, 2)


def fold_attention(tree: Tree) -> Tree:
    """Let the networks inside a tree use folded attention on a processor.

    Args:
        tree: A network, a score: anything that may hold networks.

    Returns:
        The same on a GPU, and of networks whose attention was chosen, or whose matrix products are
        not those of their values' dtype.
    """

    def foldable(node: object) -> bool:
        config = node.config.to_dict() if isinstance(node, AbstractNet) else {}
        chosen = config.get("attention_backend", "none"), config.get("compute_dtype")
        return chosen == (None, None)

    if jax.default_backend() != "cpu":
        return tree

    def folded(node):
        return with_config(node, attention_backend="folded") if foldable(node) else node

    return jax.tree.map(folded, tree, is_leaf=foldable)
