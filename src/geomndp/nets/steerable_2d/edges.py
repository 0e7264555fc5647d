r"""Edges of a planar graph: radial features, and rotations by powers of their direction.

The direction is the complex number $z = (x_j - x_i) / \sqrt{r^2 + \delta^2}$: `message_passing` has
the formula in which it stands.
"""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp._types import Array, Bool, Float, PRNGKeyArray
from geomndp.nets.graph import SOFTENING
from geomndp.nets.layers import linear
from geomndp.nets.steerable_2d.o2_layers import PARTS

POWERS = 5


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


class Edges(NamedTuple):
    """What all layers know of edges, such as those of n points with k slots each."""

    radial: Float[Array, "*e w"]
    """Features of the radial weights times the envelope, which is itself the last of them."""
    powers: Float[Array, "*e 10"]
    """Real and imaginary parts of z^0, ..., z^4."""
    transport: Float[Array, "*e 2"] | None
    """Phase by which parallel transport turns features of order 1; None in flat space."""


def angular_powers(offset: Float[Array, "n k 2"], soft: float) -> Float[Array, "n k 10"]:
    """Real and imaginary parts of the powers of z.

    Args:
        offset: x_j - x_i of every edge.
        soft: Length delta by which distances are softened.
    """
    size = jnp.sqrt(jnp.sum(offset**2, axis=-1) + soft**2)
    a, b = offset[..., 0] / size, offset[..., 1] / size
    powers = [(jnp.ones_like(a), jnp.zeros_like(a))]
    for _ in range(POWERS - 1):
        c, s = powers[-1]
        powers.append((a * c - b * s, a * s + b * c))
    return jnp.stack([part for power in powers for part in power], axis=-1)


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


class EdgeEmbedding(eqx.Module):
    """Radial basis functions, then an MLP that all layers of a network share.

    Args:
        radius: Where the envelope vanishes, in units of the inputs.
        num: Number of Gaussian basis functions between 0 and the radius.
        width: Width of the MLP.
        dtype: Dtype of the parameters.
        key: Random key.
    """

    inner: eqx.nn.Linear
    outer: eqx.nn.Linear
    radius: float = eqx.field(static=True)
    num: int = eqx.field(static=True)

    def __init__(self, radius: float, num: int, width: int, *, dtype: str, key: PRNGKeyArray):
        inner_key, outer_key = jr.split(key)
        self.inner = eqx.nn.Linear(num, width, dtype=dtype, key=inner_key)
        self.outer = eqx.nn.Linear(width, width, dtype=dtype, key=outer_key)
        self.radius, self.num = radius, num

    def __call__(
        self,
        offset: Float[Array, "n k 2"],
        real: Bool[Array, "n k"],
        transport: Float[Array, "n k 2"] | None,
        dtype: jnp.dtype,
    ) -> Edges:
        """Describe the edges; free slots have no envelope."""
        soft = SOFTENING * self.radius
        square = jnp.sum(offset**2, axis=-1)
        distance = jnp.sqrt(square + soft**2) / self.radius
        centres = jnp.linspace(0.0, 1.0, self.num, dtype=offset.dtype)
        basis = jnp.exp(-0.5 * ((distance[..., None] - centres[None, None]) * self.num) ** 2)
        envelope = jnp.where(real, jnp.maximum(1 - square / self.radius**2, 0.0) ** 3, 0.0)
        hidden = jax.nn.silu(linear(self.inner, basis.astype(dtype)))
        hidden = jax.nn.silu(linear(self.outer, hidden))
        envelope = envelope[..., None].astype(dtype)
        radial = jnp.concatenate([hidden * envelope, envelope], axis=-1)
        return Edges(radial, angular_powers(offset, soft), transport)
