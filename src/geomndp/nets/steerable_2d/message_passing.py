r"""Message passing on a planar graph, by all O(2)-equivariant linear maps along its edges.

With $z = (x_j - x_i) / \sqrt{r^2 + \delta^2}$ as a complex number, channel by channel

$m_{i,m} = \sum_{j,m'} w^+_{m m'}(r) z^{m - m'} h_{j,m'} + w^-_{m m'}(r) z^{m + m'} \bar h_{j,m'}$

with real weights (a negative power is one of $\bar z$). For a vector in and out, $w^+ \pm w^-$ act
on its components along and across the edge. $z$ and the weights are smooth also at r = 0, where
only $z^0$ remains, and the weights vanish smoothly at the radius. On a curved surface z is the
logarithm map in the frame of i, and $h_{j,m'}$ comes by parallel transport, times $c_{ij}^{m'}$.

A CPU adds one slot of every point after the other: what a slot needs stays in the cache, and matrix
products give the factors of a loop that the compiler vectorises. Elsewhere, and in derivatives, all
edges are multiplied at once.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jax.custom_derivatives import SymbolicZero

from geomndp._types import Array, Bool, Float, Int, PRNGKeyArray
from geomndp.nets.graph import SOFTENING, Graph, map_in_chunks, neighbour_values, points_per_chunk
from geomndp.nets.layers import linear
from geomndp.nets.steerable_2d.o2_layers import (
    PARTS,
    POWERS,
    RADIAL_WEIGHTS,
    Send,
    rotation_matrices,
)

CACHED = 512  # points of which the matrices of one slot stay in the cache


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


def edge_matrices(weight: Float[Array, "w g"], edges: Edges) -> Float[Array, "*e 6 6 c"]:
    """Matrices that take the features of a neighbour to its message, channel by channel.

    Args:
        weight: Radial weights of the features of the edges, offsets last, for g = 18 c factors.
        edges: Edges of any shape, such as (n, k).
    """
    shape = edges.radial.shape[:-1]
    channels = weight.shape[1] // RADIAL_WEIGHTS
    factors = jnp.matmul(edges.radial, weight).reshape(-1, 2, 3, 1, 3, 1, channels)
    rotations = rotation_matrices(edges.powers, edges.transport).astype(weight.dtype)
    rotations = rotations.reshape(-1, 2, 3, 2, 3, 2, 1)
    matrices = factors[:, 0] * rotations[:, 0] + factors[:, 1] * rotations[:, 1]
    return matrices.reshape(*shape, PARTS, PARTS, channels)


@jax.custom_jvp
def messages(
    weight: Float[Array, "w g"],
    edges: Edges,
    h: Float[Array, "m f"],
    index: Int[Array, "n k"],
    reverse: Int[Array, "n k"] | None,
) -> Float[Array, "n f"]:
    """Sum over neighbours of their matrix times their features.

    Args:
        weight: As in `edge_matrices`.
        edges: Edges of n points with k slots each.
        h: Features of all m points.
        index: Neighbour of each slot.
        reverse: See `graph.neighbour_values`; None for some of the points only.
    """
    args = weight, edges, h, index, reverse
    return jax.lax.platform_dependent(*args, cpu=_slot_by_slot, default=_at_once)


@functools.partial(messages.defjvp, symbolic_zeros=True)
def _messages_jvp(primals, tangents):
    """Derivatives of `_at_once` with respect to what has a tangent."""
    leaves, structure = jax.tree.flatten(primals)
    slopes = jax.tree.leaves(tangents)
    active = [i for i, slope in enumerate(slopes) if not isinstance(slope, SymbolicZero)]

    def of_active(*values):
        merged = dict(enumerate(leaves)) | dict(zip(active, values, strict=True))
        return _at_once(*jax.tree.unflatten(structure, merged.values()))

    points, directions = ([array[i] for i in active] for array in (leaves, slopes))
    return messages(*primals), jax.jvp(of_active, points, directions)[1]


def _at_once(weight, edges: Edges, h, index, reverse):
    """The sum as one product of all edges."""
    n, k = index.shape
    values = h[index] if reverse is None else neighbour_values(h, index, reverse)
    values = values.reshape(n, k, PARTS, -1)
    return jnp.einsum("ikabc,ikbc->iac", edge_matrices(weight, edges), values).reshape(n, -1)


def _slot_by_slot(weight, edges: Edges, h, index, reverse):
    """The sum in blocks of points, and in a block one slot after the other."""

    def block(rows):
        slots = jax.tree.map(lambda leaf: jnp.swapaxes(leaf, 0, 1), rows)
        zeros = jnp.zeros((len(rows[1]), PARTS, h.shape[1] // PARTS), h.dtype)
        return jax.lax.scan(add, zeros, slots)[0].reshape(-1, h.shape[1])

    def add(total, slot):
        edges, index = slot
        matrices, values = edge_matrices(weight, edges), h[index].reshape(total.shape)
        products = [matrices[:, :, b] * values[:, None, b] for b in range(PARTS)]
        return sum(products, total), None

    return map_in_chunks(block, (edges, index), CACHED)


class Neighbourhood(eqx.Module):
    """What messages between the points of a graph need, for all layers and evaluations."""

    index: Int[Array, "n k"]
    reverse: Int[Array, "n k"]
    geometry: tuple[Any, ...] | None
    """Offsets, taken slots and transport, of which edges are made; None where these are kept."""
    edges: Edges | None
    """None where there are more than one chunk may hold: they are made anew for every chunk."""
    weight: Float[Array, "n 1"]
    """Total weight of the neighbours of each point."""


def neighbourhood(edge: EdgeEmbedding, graph: Graph, dtype: jnp.dtype) -> Neighbourhood:
    """What is known of the neighbours before any message, with matrix products in `dtype`."""
    size, links = points_per_chunk(graph.index.shape[1]), (graph.index, graph.reverse)
    geometry = (graph.offset, graph.real, graph.transport)
    if len(graph.index) <= size:
        edges = edge(*geometry, dtype)
        return Neighbourhood(*links, None, edges, _weights(edges))
    weight = map_in_chunks(lambda rows: _weights(_edges(edge, rows, dtype)), geometry, size)
    return Neighbourhood(*links, geometry, None, weight)


def _edges(edge: EdgeEmbedding, geometry: Any, dtype: jnp.dtype) -> Edges:
    offset, real, transport = geometry
    return edge(offset, real, transport, dtype)


def _weights(edges: Edges) -> Float[Array, "n 1"]:
    return jnp.sum(edges.radial[..., -1:], axis=1)


def sender(edge: EdgeEmbedding, near: Neighbourhood) -> Send:
    """The function that passes messages, divided by the weight of the neighbours plus one.

    They are averages, whatever the density of the points.

    Args:
        edge: Embedding of the edges.
        near: Its `neighbourhood`.

    Returns:
        Map of radial weights and features (n, f) to the messages (n, f) that each point receives.
    """

    def send(radial, h):
        factors = jnp.concatenate([radial.weight.T, radial.bias[None]]).astype(h.dtype)
        if near.edges is not None:
            return messages(factors, near.edges, h, near.index, near.reverse) / (1 + near.weight)

        def received(chunk):
            index, rows = chunk
            return messages(factors, _edges(edge, rows, h.dtype), h, index, None)

        size = points_per_chunk(near.index.shape[1])
        return map_in_chunks(received, (near.index, near.geometry), size) / (1 + near.weight)

    return send
