r"""Equivariant maps between channels of angular orders 0, 1 and 2 at one point.

Features of a point are 6 C real numbers: real and imaginary parts of C complex channels of every
order, channels fastest. A rotation by $\phi$ multiplies order m by $e^{i m \phi}$, a reflection
conjugates. Linear maps with real weights that mix channels of one order commute with both; the two
parts of order 0 are different representations (scalars and pseudo-scalars) and have their own.
"""

from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp._types import Array, Float, PRNGKeyArray
from geomndp.nets.layers import linear

PARTS = 6  # real and imaginary, orders 0, 1, 2
KIND = (0, 1, 2, 2, 3, 3)  # of every part: scalar, pseudo-scalar, order 1, order 2
KINDS = 4
_SAME = np.zeros((PARTS, PARTS, KINDS))  # 1 where two parts are the same, of this kind
_SAME[range(PARTS), range(PARTS), KIND] = 1

Features = Float[Array, "n f"]


class EquivariantLinear(eqx.Module):
    """Linear map of features, one matrix a kind: one product with a block-diagonal matrix."""

    weight: Float[Array, "kinds i o"]

    def __init__(self, inputs: int, outputs: int, *, dtype: str, key: PRNGKeyArray):
        """Map `inputs` channels of each order to `outputs`."""
        self.weight = jr.normal(key, (KINDS, inputs, outputs), dtype) / math.sqrt(inputs)

    def __call__(self, h: Float[Array, "n i"]) -> Float[Array, "n o"]:
        """Map the features of every point."""
        same = jnp.asarray(_SAME, h.dtype)
        _, inputs, outputs = self.weight.shape
        blocks = jnp.einsum("abk,kio->aibo", same, self.weight.astype(h.dtype))
        return jnp.matmul(h, blocks.reshape(PARTS * inputs, PARTS * outputs))


def per_part(v: Float[Array, "n kc"]) -> Features:
    """Give one real factor a kind and channel to all parts."""
    kinds = v.reshape(len(v), KINDS, -1)
    return jnp.concatenate([kinds[:, kind] for kind in KIND], axis=1)


def scalars(h: Features) -> Float[Array, "n c"]:
    """The invariant features."""
    return h[:, : h.shape[1] // PARTS]


def add_scalars(h: Features, s: Float[Array, "n c"]) -> Features:
    """Add to the invariant features."""
    return jnp.concatenate([scalars(h) + s, h[:, s.shape[1] :]], axis=1)


def sizes(h: Features) -> Float[Array, "n kc"]:
    """Scalars, then smooth absolute values of all other channels: invariant."""
    parts = h.reshape(len(h), PARTS, -1)
    squares = parts**2
    rest = [squares[:, 1], squares[:, 2] + squares[:, 3], squares[:, 4] + squares[:, 5]]
    return jnp.concatenate([parts[:, 0], *(jnp.sqrt(square + 1e-4) for square in rest)], axis=1)


class Gated(eqx.Module):
    """Non-linearity: a small MLP of invariants gives new scalars and the factors of the rest."""

    inner: eqx.nn.Linear
    outer: eqx.nn.Linear

    def __init__(self, channels: int, width: int, extra: int, *, dtype: str, key: PRNGKeyArray):
        """Act on `channels` of each order; `extra` invariants go to the MLP as well."""
        inner_key, outer_key = jr.split(key)
        size = KINDS * channels
        self.inner = eqx.nn.Linear(size + extra, width, dtype=dtype, key=inner_key)
        self.outer = eqx.nn.Linear(width, size, dtype=dtype, key=outer_key)

    def __call__(self, h: Features, extra: Float[Array, "n e"]) -> Features:
        """Transform the features of every point."""
        invariants = jnp.concatenate([sizes(h), extra], axis=1)
        made = linear(self.outer, jax.nn.gelu(linear(self.inner, invariants)))
        channels = h.shape[1] // PARTS
        fresh, factors = made[:, :channels], per_part(made)[:, channels:]
        return jnp.concatenate([fresh, factors * h[:, channels:]], axis=1)
