r"""Radius graphs, built on the device in memory linear in the number of points.

All pairs of points of one function nearer than the radius are neighbours. Unlike the k nearest,
which are ambiguous on a regular grid, they are equivariant. Every point has the same number
of slots; where more points are within the radius, the nearest ones of each other are kept, and
`num_dropped` counts the rest.

Values of neighbours are gathered with a transpose that gathers too. The transpose of
$(G h)_{is} = h_{j(i,s)}$ adds what all slots that point to j hold: a scatter, slow and on a GPU not
reproducible. In a graph whose edges all run both ways it is a gather as well: the edge of slot
(i, s) stands once more in the list of its other end, at position `reverse`. JAX has no way to state
such a transpose that also works in forward mode and under vmap, so that these are two primitives,
each the other's transpose.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from geomndp._arrays import chunk_scale
from geomndp._types import Array, Bool, Float, Inputs, Int, Mask
from geomndp.nets.cell_list import candidates, cell_ranges

DENSE = 1024  # up to so many points, all pairs are compared
CANDIDATES = 2  # room of a range of cells over the slots of a point
EDGES = 2**16  # slots of neighbours that one chunk of a processor holds at most
SOFTENING = 0.1  # of edge lengths, over the radius: smooth features also at distance zero


class Graph(eqx.Module):
    """Slots of every point; a free one points to the point itself."""

    index: Int[Array, "n k"]
    """Neighbours j."""
    reverse: Int[Array, "n k"]
    """Flat position of the same edge in the list of its other end."""
    offset: Float[Array, "n k d"]
    """x_j - x_i, differentiable."""
    real: Bool[Array, "n k"]
    """Whether a slot is taken."""
    num_dropped: Int[Array, ""]
    """Pairs within the radius (both ways counted) for which there is no slot."""
    transport: Float[Array, "n k 2"] | None = None
    """Phase by which parallel transport turns features of order 1; None in flat space."""


def radius_graph(x: Inputs, mask: Mask, radius: float, slots: int) -> Graph:
    """Connect points of one function (equal positive masks) that are nearer than the radius.

    Args:
        x: Locations (n, d).
        mask: (n,), zero where a row is padding.
        radius: In units of the inputs.
        slots: Neighbours per point for which there is room.
    """
    index, real, num_edges = _nearest(jax.lax.stop_gradient(x), mask, radius, slots)
    index, reverse, real = _mutual(index, real)
    num_dropped = num_edges - jnp.sum(real, dtype=jnp.int32)
    return Graph(index, reverse, x[index] - x[:, None, :], real, num_dropped)


def _nearest(x: Inputs, mask: Mask, radius: float, slots: int):
    """Nearest points within the radius, at most `slots`; and how many pairs there are."""
    n = len(x)
    own_index = jnp.arange(n, dtype=jnp.int32)
    if n <= DENSE:
        index, real, count = _closest(
            x, mask, own_index, jnp.tile(own_index[None], (n, 1)), radius, slots
        )
        return index, real, jnp.sum(count, dtype=jnp.int32)
    order, start, end = cell_ranges(x, mask, radius)

    def closest(rows):
        start, end, own_index = rows
        others, unseen = candidates(order, start, end, own_index, CANDIDATES * slots)
        index, real, count = _closest(x, mask, own_index, others, radius, slots)
        return index, real, count + unseen

    size = max(chunk_scale() * DENSE**2 // (CANDIDATES * slots * start.shape[1]), 1)
    index, real, count = map_in_chunks(closest, (start, end, own_index), size)
    return index, real, jnp.sum(count, dtype=jnp.int32)


def _closest(
    x: Inputs, mask: Mask, own_index, others: Int[Array, "b m"], radius: float, slots: int
):
    """The nearest of the `others` of some points, and how many are within the radius."""
    square = jnp.sum((x[others] - x[own_index][:, None, :]) ** 2, axis=-1)
    near = (others != own_index[:, None]) & (mask[others] == mask[own_index][:, None])
    near = near & (mask[own_index] > 0)[:, None] & (square < radius**2)
    best, position = jax.lax.top_k(jnp.where(near, -square, -jnp.inf), min(slots, others.shape[1]))
    index = jnp.take_along_axis(others, position, axis=1)
    return index, jnp.isfinite(best), jnp.sum(near, axis=1, dtype=jnp.int32)


def _mutual(index: Int[Array, "n k"], real: Bool[Array, "n k"]):
    """Keep the edges that both ends have listed; where each stands in the other's list.

    Lists are sorted by the points' numbers, so that a search in memory of all edges finds a point.
    """
    n, k = index.shape
    index = jnp.sort(jnp.where(real, index, n), axis=1)
    own_index = jnp.broadcast_to(jnp.arange(n, dtype=index.dtype)[:, None], (n, k))
    other = jnp.minimum(index, n - 1)
    position = jnp.zeros_like(index)
    for step in (1 << power for power in reversed(range(k.bit_length()))):
        ahead = position + step
        position = jnp.where(
            (ahead < k) & (index[other, jnp.minimum(ahead, k - 1)] <= own_index), ahead, position
        )
    real = (index < n) & (index[other, position] == own_index)
    index = jnp.where(real, index, own_index)
    slot = jnp.arange(k, dtype=index.dtype)[None, :]
    return index, k * index + jnp.where(real, position, slot), real


def map_in_chunks(function: Callable[[Any], Any], rows: Any, size: int) -> Any:
    """Apply `function` to chunks of at most `size` rows, one after the other.

    Args:
        function: Takes arrays like `rows` with fewer rows and returns one array, or several, with
            as many rows; a row of the result depends on its own row alone.
        rows: Arrays that share their first axis.
        size: The most rows of a chunk; all rows at once if there are no more.

    Returns:
        What `function(rows)` gives, to rounding. Nothing of a chunk is kept for derivatives.
    """
    n = len(jax.tree.leaves(rows)[0])
    if n <= size:
        return function(rows)
    count = -(-n // size)
    height = -(-n // count)  # chunks alike, and less than one row per chunk of padding
    spare = count * height - n

    def cut(leaf):
        # Copies of the last row: whatever is computed for it is finite.
        padded = jnp.concatenate([leaf, jnp.repeat(leaf[-1:], spare, axis=0)]) if spare else leaf
        return padded.reshape(count, height, *leaf.shape[1:])

    chunks = jax.lax.map(jax.checkpoint(function), jax.tree.map(cut, rows))
    return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:])[:n], chunks)


def points_per_chunk(slots: int) -> int:
    """How many points with so many slots make one chunk, at least one."""
    return max(chunk_scale() * EDGES // max(slots, 1), 1)


def neighbour_values(
    h: Float[Array, "n c"], index: Int[Array, "n k"], reverse: Int[Array, "n k"]
) -> Float[Array, "n k c"]:
    """Rows of h at `index`.

    Args:
        h: Features of the n points.
        index: Neighbour of each slot; a free slot of point i points to i.
        reverse: Flat position i' k + s' of each slot's edge seen from its other end; a free slot is
            its own reverse.
    """
    return _spread.bind(h, index, reverse)


def _take(h, index, reverse):
    return h[index]


def _add(values, index, reverse):
    n, k, c = values.shape
    return jnp.sum(values.reshape(n * k, c)[reverse], axis=1)


def _derivative_of(primitive: Primitive):
    def rule(primals, tangents):
        out, slope = primitive.bind(*primals), tangents[0]
        if type(slope) is ad.Zero:
            return out, ad.instantiate_zeros(ad.Zero(jax.typeof(out)))
        return out, primitive.bind(slope, *primals[1:])

    return rule


def _transpose_of(other: Primitive):
    def rule(cotangent, v, index, reverse):
        if type(cotangent) is ad.Zero:
            return ad.Zero(v.aval), None, None
        return other.bind(cotangent, index, reverse), None, None

    return rule


def _batch_of(primitive: Primitive):
    """Functions that share the graph become channels; others become more points of one graph."""

    def rule(args, dims):
        v, index, reverse = args
        if dims[1] is None and dims[2] is None:
            v = jnp.moveaxis(v, dims[0], -2)  # (n, b, c) or (n, k, b, c)
            out = primitive.bind(v.reshape(*v.shape[:-2], -1), index, reverse)
            out = out.reshape(*out.shape[:-1], *v.shape[-2:])
            return out, out.ndim - 2
        size = next(a.shape[d] for a, d in zip(args, dims, strict=True) if d is not None)
        v, index, reverse = (
            batching.bdim_at_front(a, d, size) for a, d in zip(args, dims, strict=True)
        )
        _, n, k = index.shape
        first = jnp.arange(size, dtype=index.dtype)[:, None, None]
        rows = [jnp.reshape(a, (size * n, k)) for a in (index + n * first, reverse + n * k * first)]
        out = primitive.bind(v.reshape(size * n, *v.shape[2:]), *rows)
        return out.reshape(size, n, *out.shape[1:]), 0

    return rule


def _define(name: str, function, shape) -> Primitive:
    primitive = Primitive(name)
    primitive.def_impl(function)
    primitive.def_abstract_eval(lambda v, index, reverse: v.update(shape=shape(v, index)))
    mlir.register_lowering(primitive, mlir.lower_fun(function, multiple_results=False))
    batching.primitive_batchers[primitive] = _batch_of(primitive)
    ad.primitive_jvps[primitive] = _derivative_of(primitive)
    return primitive


_spread = _define("neighbour_values", _take, lambda v, index: (*index.shape, v.shape[-1]))
_collect = _define("neighbour_sums", _add, lambda v, index: (v.shape[0], v.shape[-1]))
ad.primitive_transposes[_spread] = _transpose_of(_collect)
ad.primitive_transposes[_collect] = _transpose_of(_spread)
