"""One layer of the planar steerable network: messages from neighbours, then a gated update."""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr

from geomndp._types import Array, Float, Inputs, Mask, PRNGKeyArray
from geomndp.nets.attention import attend
from geomndp.nets.chunking import map_in_chunks, points_per_chunk
from geomndp.nets.graph import Graph
from geomndp.nets.layers import linear
from geomndp.nets.neighbour_gather import neighbour_values
from geomndp.nets.relative_position_bias import distance_decay
from geomndp.nets.steerable_2d.edges import WEIGHTS, EdgeEmbedding, edge_matrices, messages
from geomndp.nets.steerable_2d.o2_layers import (
    KINDS,
    PARTS,
    EquivariantLinear,
    Features,
    Gated,
    per_part,
)

Send = Callable[[eqx.nn.Linear, Features], Features]


def message_passing(
    edge: EdgeEmbedding, graph: Graph, dtype: jnp.dtype
) -> tuple[Float[Array, "n 1"], Send]:
    """Weight of each point's neighbours together, and the function that sends features to them.

    Messages are divided by that weight plus one: averages, whatever the density of the points.
    """
    n, k = graph.index.shape
    size = points_per_chunk(k)
    if n > size:
        return _message_passing_in_chunks(edge, graph, dtype, size)
    edges = edge(graph.offset, graph.real, dtype)
    weight = jnp.sum(edges.envelope, axis=1, keepdims=True)

    def send(radial, h):
        values = neighbour_values(h, graph.index, graph.reverse)
        return messages(edge_matrices(radial, edges), values) / (1 + weight)

    return jnp.log1p(weight).astype(graph.offset.dtype), send


def _message_passing_in_chunks(edge: EdgeEmbedding, graph: Graph, dtype: jnp.dtype, size: int):
    """The same with nothing of the size of all edges but the list of neighbours."""

    def envelope(rows):
        offset, real = rows
        return jnp.sum(edge(offset, real, dtype).envelope, axis=1, keepdims=True)

    weight = map_in_chunks(envelope, (graph.offset, graph.real), size)

    def send(radial, h):
        def received(rows):
            index, offset, real = rows
            return messages(edge_matrices(radial, edge(offset, real, dtype)), h[index])

        return map_in_chunks(received, (graph.index, graph.offset, graph.real), size) / (1 + weight)

    return jnp.log1p(weight).astype(graph.offset.dtype), send


class SteerableLayer2D(eqx.Module):
    """What to add to the features of every point; times act on what is sent and on the gates."""

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
        self.condition = eqx.nn.Linear(width, KINDS * c, dtype=dtype, key=keys[0])
        self.outgoing = EquivariantLinear(c, c, dtype=dtype, key=keys[1])
        self.radial = eqx.nn.Linear(edge_width, WEIGHTS * c, dtype=dtype, key=keys[2])
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
    """All points see all: logits are inner products of features, invariant, less the distance."""

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
