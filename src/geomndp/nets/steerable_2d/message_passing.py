r"""Message passing on a planar graph, by all O(2)-equivariant linear maps along its edges.

With $z = (x_j - x_i) / \sqrt{r^2 + \delta^2}$ as a complex number, channel by channel

$m_{i,m} = \sum_{j,m'} w^+_{m m'}(r) z^{m - m'} h_{j,m'} + w^-_{m m'}(r) z^{m + m'} \bar h_{j,m'}$

with real weights (a negative power is one of $\bar z$). For a vector in and out, $w^+ \pm w^-$ act
on its components along and across the edge. $z$ and the weights are smooth also at r = 0, where
only $z^0$ remains, and the weights vanish smoothly at the radius. On a curved surface z is the
logarithm map in the frame of i, and $h_{j,m'}$ comes by parallel transport, times $c_{ij}^{m'}$.
"""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp._types import Array, Bool, Float, PRNGKeyArray
from geomndp.nets.graph import SOFTENING, Graph, map_in_chunks, neighbour_values, points_per_chunk
from geomndp.nets.layers import linear
from geomndp.nets.steerable_2d.o2_layers import PARTS, Send

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
    """What all layers know of the edges of n points with k slots each."""

    hidden: Float[Array, "n k w"]
    envelope: Float[Array, "n k"]
    rotation_matrices: Float[Array, "n k 72"]


def rotation_matrices(offset: Float[Array, "n k 2"], soft: float) -> Float[Array, "n k 72"]:
    """Entries of the 6 x 6 real matrices of powers of z, without and with conjugation.

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
    components = jnp.stack([part for power in powers for part in power], axis=-1)
    return jnp.matmul(components, jnp.asarray(TABLE.T, components.dtype), precision="highest")


def transported(
    matrices: Float[Array, "n k 72"], transport: Float[Array, "n k 2"] | None
) -> Float[Array, "n k 72"]:
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
        dtype: jnp.dtype,
        transport: Float[Array, "n k 2"] | None = None,
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
        matrices = transported(rotation_matrices(offset, soft), transport)
        return Edges(hidden, envelope.astype(dtype), matrices.astype(dtype))


def edge_matrices(weight: eqx.nn.Linear, edges: Edges) -> Float[Array, "n k 6 6 c"]:
    """Matrices that take the features of a neighbour to its message, channel by channel."""
    n, k = edges.envelope.shape
    radial = linear(weight, edges.hidden) * edges.envelope[..., None]
    plain, conjugated = jnp.split(radial.reshape(n, k, 6, 1, 3, 1, -1), 2, axis=2)
    by, conjugate = jnp.split(edges.rotation_matrices.reshape(n, k, 6, 2, 3, 2, 1), 2, axis=2)
    return (plain * by + conjugated * conjugate).reshape(n, k, PARTS, PARTS, -1)


def messages(
    matrices: Float[Array, "n k 6 6 c"], values: Float[Array, "n k f"]
) -> Float[Array, "n f"]:
    """Sum over neighbours of their matrix times their features."""
    n, k = values.shape[:2]
    values = values.reshape(n, k, PARTS, -1)
    return jnp.einsum("ikabc,ikbc->iac", matrices, values).reshape(n, -1)


def message_passing(
    edge: EdgeEmbedding, graph: Graph, dtype: jnp.dtype
) -> tuple[Float[Array, "n 1"], Send]:
    """Total weight of each point's neighbours, and the function that passes messages.

    Messages are divided by that weight plus one: averages, whatever the density of the points.

    Args:
        edge: Embedding of the edges.
        graph: Neighbours of every point.
        dtype: Dtype of the matrix products.

    Returns:
        Logarithm of one plus the weight (n, 1), and the map of radial weights and features (n, f)
        to the messages (n, f) that each point receives.
    """
    n, k = graph.index.shape
    size = points_per_chunk(k)
    if n > size:
        return _message_passing_in_chunks(edge, graph, dtype, size)
    edges = edge(graph.offset, graph.real, dtype, graph.transport)
    weight = jnp.sum(edges.envelope, axis=1, keepdims=True)

    def send(radial, h):
        values = neighbour_values(h, graph.index, graph.reverse)
        return messages(edge_matrices(radial, edges), values) / (1 + weight)

    return jnp.log1p(weight).astype(graph.offset.dtype), send


def _message_passing_in_chunks(edge: EdgeEmbedding, graph: Graph, dtype: jnp.dtype, size: int):
    """Message passing in chunks: only the list of neighbours has the size of all edges."""

    def envelope(rows):
        offset, real = rows
        return jnp.sum(edge(offset, real, dtype).envelope, axis=1, keepdims=True)

    weight = map_in_chunks(envelope, (graph.offset, graph.real), size)

    def send(radial, h):
        def received(rows):
            index, offset, real, transport = rows
            edges = edge(offset, real, dtype, transport)
            return messages(edge_matrices(radial, edges), h[index])

        rows = (graph.index, graph.offset, graph.real, graph.transport)
        return map_in_chunks(received, rows, size) / (1 + weight)

    return jnp.log1p(weight).astype(graph.offset.dtype), send
