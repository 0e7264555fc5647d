r"""Layers of O(2)-equivariant features: channels of angular orders 0, 1 and 2.

Features of a point are 6 C real numbers: real and imaginary parts of C complex channels of every
order, channels fastest. A rotation by $\phi$ multiplies order m by $e^{i m \phi}$, a reflection
conjugates. Linear maps with real weights that mix channels of one order commute with both; the two
parts of order 0 are different representations (scalars and pseudo-scalars) and have their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp._types import Array, Float, Inputs, Mask, PRNGKeyArray
from geomndp.nets.attention import attend
from geomndp.nets.layers import linear
from geomndp.nets.relative_position_bias import distance_decay

RADIAL_WEIGHTS = 18  # w+ and w- for every pair of orders, see message_passing
PARTS = 6  # real and imaginary, orders 0, 1, 2
POWERS = 5  # of the direction of an edge, from the zeroth on
TYPE_OF_PART = (0, 1, 2, 2, 3, 3)
"""Representation of every part: scalar, pseudo-scalar, order 1, order 2."""
NUM_TYPES = 4
_TYPE_OF_PART = np.asarray(TYPE_OF_PART, np.int32)

Features = Float[Array, "n f"]
Send = Callable[[eqx.nn.Linear, Features], Features]
"""Radial weights and features of all points to the messages that each receives."""


class EquivariantLinear(eqx.Module):
    """Equivariant linear map of features, by one matrix per representation.

    Args:
        inputs: Channels of each order.
        outputs: Channels of each order of the result.
        dtype: Dtype of the parameters.
        key: Random key.
    """

    weight: Float[Array, "r i o"]

    def __init__(self, inputs: int, outputs: int, *, dtype: str, key: PRNGKeyArray):
        self.weight = jr.normal(key, (NUM_TYPES, inputs, outputs), dtype) / math.sqrt(inputs)

    def __call__(self, h: Float[Array, "n i"]) -> Float[Array, "n o"]:
        """Map the features of every point."""
        parts = jnp.swapaxes(h.reshape(len(h), PARTS, -1), 0, 1)
        return jnp.swapaxes(self.by_parts(parts), 0, 1).reshape(len(h), -1)

    def by_parts(self, h: Float[Array, "6 n i"]) -> Float[Array, "6 n o"]:
        """Map features of which the real and imaginary parts of the orders come first."""
        return jnp.matmul(h, self.weight[_TYPE_OF_PART].astype(h.dtype))


def per_part(v: Float[Array, "n rc"]) -> Features:
    """Repeat one real factor per representation and channel for all parts."""
    factors = v.reshape(len(v), NUM_TYPES, -1)
    return jnp.concatenate([factors[:, number] for number in TYPE_OF_PART], axis=1)


def scalars(h: Features) -> Float[Array, "n c"]:
    """The invariant features."""
    return h[:, : h.shape[1] // PARTS]


def add_scalars(h: Features, s: Float[Array, "n c"]) -> Features:
    """Add to the invariant features."""
    return jnp.concatenate([scalars(h) + s, h[:, s.shape[1] :]], axis=1)


def sizes(h: Features) -> Float[Array, "n rc"]:
    """Scalars, then smooth absolute values of all other channels: invariant."""
    components = h.reshape(len(h), PARTS, -1)
    squares = components**2
    rest = [squares[:, 1], squares[:, 2] + squares[:, 3], squares[:, 4] + squares[:, 5]]
    return jnp.concatenate(
        [components[:, 0], *(jnp.sqrt(square + 1e-4) for square in rest)], axis=1
    )


class Gated(eqx.Module):
    """Gated non-linearity: an MLP of invariants gives new scalars and the factors of the rest.

    Args:
        channels: Channels of each order.
        width: Width of the MLP.
        extra: Number of further invariants that the MLP takes.
        dtype: Dtype of the parameters.
        key: Random key.
    """

    inner: eqx.nn.Linear
    outer: eqx.nn.Linear

    def __init__(self, channels: int, width: int, extra: int, *, dtype: str, key: PRNGKeyArray):
        inner_key, outer_key = jr.split(key)
        size = NUM_TYPES * channels
        self.inner = eqx.nn.Linear(size + extra, width, dtype=dtype, key=inner_key)
        self.outer = eqx.nn.Linear(width, size, dtype=dtype, key=outer_key)

    def __call__(self, h: Features, extra: Float[Array, "n e"]) -> Features:
        """Transform the features of every point."""
        invariants = jnp.concatenate([sizes(h), extra], axis=1)
        outputs = linear(self.outer, jax.nn.gelu(linear(self.inner, invariants)))
        channels = h.shape[1] // PARTS
        fresh, factors = outputs[:, :channels], per_part(outputs)[:, channels:]
        return jnp.concatenate([fresh, factors * h[:, channels:]], axis=1)


class SteerableLayer2D(eqx.Module):
    """Update of the features of every point; times act on the messages and on the gates."""

    condition: eqx.nn.Linear
    outgoing: EquivariantLinear
    radial: eqx.nn.Linear
    own: EquivariantLinear
    incoming: EquivariantLinear
    gated: Gated
    merge: EquivariantLinear

    def __init__(
        self, channels: int, width: int, edge_width: int, *, dtype: str, key: PRNGKeyArray
    ):
        keys = jr.split(key, 7)
        c = channels
        self.condition = eqx.nn.Linear(width, NUM_TYPES * c, dtype=dtype, key=keys[0])
        self.outgoing = EquivariantLinear(c, c, dtype=dtype, key=keys[1])
        self.radial = eqx.nn.Linear(edge_width, RADIAL_WEIGHTS * c, dtype=dtype, key=keys[2])
        self.own = EquivariantLinear(c, c, dtype=dtype, key=keys[3])
        self.incoming = EquivariantLinear(c, c, dtype=dtype, key=keys[4])
        self.gated = Gated(c, 2 * width, width, dtype=dtype, key=keys[5])
        self.merge = EquivariantLinear(c, c, dtype=dtype, key=keys[6])

    def __call__(self, h: Features, time: Float[Array, "n w"], send: Send) -> Features:
        """Send, receive, transform."""
        sent = self.outgoing(h) * (1 + per_part(linear(self.condition, time)))
        update = self.own(h) + self.incoming(send(self.radial, sent))
        return self.merge(self.gated(update, time))


class Attention(eqx.Module):
    """Attention over all points: logits are invariant inner products minus distances."""

    project: EquivariantLinear
    merge: EquivariantLinear
    num_heads: int = eqx.field(static=True)

    def __init__(self, channels: int, heads: int, *, dtype: str, key: PRNGKeyArray):
        project_key, merge_key = jr.split(key)
        self.project = EquivariantLinear(channels, 3 * channels, dtype=dtype, key=project_key)
        self.merge = EquivariantLinear(channels, channels, dtype=dtype, key=merge_key)
        self.num_heads = heads

    def __call__(
        self, h: Features, x: Inputs, radius: float, mask: Mask, backend: str | None
    ) -> Features:
        """Features that each point attends to; heads start at ranges from one radius to ten."""
        n = len(h)
        split = self.project(h).reshape(n, PARTS, 3, self.num_heads, -1)
        query, key, value = (
            jnp.swapaxes(split[:, :, i], 1, 2).reshape(1, n, self.num_heads, -1) for i in range(3)
        )
        bias = -distance_decay(x, self.num_heads, radius, 10 * radius).astype(h.dtype)
        attended = attend(query, key, value, bias=bias, mask=mask, backend=backend)
        attended = jnp.swapaxes(attended.reshape(n, self.num_heads, PARTS, -1), 1, 2)
        return self.merge(attended.reshape(n, -1))


def _table() -> np.ndarray:
    """Matrix (2 x 36 entries, 5 x 2 powers) of multiplication by z^(m - m') and conjugations."""
    table = np.zeros((2, 3, 2, 3, 2, POWERS, 2))
    for m in range(3):
        for k in range(3):
            power, sign = abs(m - k), 1 if m >= k else -1
            plain = (((0, 0, 0), 1), ((1, 1, 0), 1), ((0, 1, 1), -sign), ((1, 0, 1), sign))
            conjugated = (((0, 0, 0), 1), ((1, 1, 0), -1), ((0, 1, 1), 1), ((1, 0, 1), 1))
            for (p, q, part), value in plain:
                table[0, m, p, k, q, power, part] = value
            for (p, q, part), value in conjugated:
                table[1, m, p, k, q, m + k, part] = value
    return table.reshape(2 * PARTS**2, 2 * POWERS)


TABLE = _table()


def rotation_matrices(
    powers: Float[Array, "*e 10"], transport: Float[Array, "*e 2"] | None
) -> Float[Array, "*e 72"]:
    """Entries of the 6 x 6 real matrices of powers of z, without and with conjugation.

    Args:
        powers: Those of `angular_powers`.
        transport: Phase of parallel transport, None in flat space.
    """
    table = jnp.asarray(TABLE.T, powers.dtype)
    return transported(jnp.matmul(powers, table, precision="highest"), transport)


def transported(
    matrices: Float[Array, "*e 72"], transport: Float[Array, "*e 2"] | None
) -> Float[Array, "*e 72"]:
    """Matrices that act on features in the neighbour's own frame: transport, then the matrix.

    Args:
        matrices: Entries of `rotation_matrices`.
        transport: Phase c of parallel transport of order 1, its real and imaginary part; None in
            flat space.
    """
    if transport is None:
        return matrices
    a, b = transport[..., 0], transport[..., 1]
    one, zero = jnp.ones_like(a), jnp.zeros_like(a)
    cosine = jnp.stack([one, a, a**2 - b**2], axis=-1)[..., None, :]
    sine = jnp.stack([zero, b, 2 * a * b], axis=-1)[..., None, :]
    entries = matrices.reshape(*a.shape, 2 * PARTS, 3, 2)
    real, imaginary = entries[..., 0], entries[..., 1]
    columns = (real * cosine + imaginary * sine, imaginary * cosine - real * sine)
    return jnp.stack(columns, axis=-1).reshape(matrices.shape)
