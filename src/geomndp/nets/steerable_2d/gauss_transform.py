r"""Gaussian sums over all points in linear cost: a fast Gauss transform over occupied cells.

With local coordinates u, v in [-1, 1] of two cells, Chebyshev polynomials $T_k$ and a weight g,

$g(y - x) = \sum_{kl} A_{kl} T_k(u) T_l(v)$,

so that a sum over sources is: moments $\sum_j T_k T_l f_j$ of every cell, translation of moments to
the cells in reach (first along one coordinate, then along the other, as Gaussians are separable),
and evaluation at the points (Greengard and Strain, SIAM J. Sci. Stat. Comput. 12, 1991, with
Chebyshev instead of Hermite polynomials). Cells without points are not stored: cost and memory are
linear in the number of points, wherever they lie. `CellLayout` says how large the arrays are.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from geomndp._arrays import chunk_scale
from geomndp._types import Array, Bool, Float, Inputs, Int, Mask
from geomndp.nets.graph import map_in_chunks
from geomndp.nets.steerable_2d.cell_layout import (
    BLOCK,
    FARTHEST,
    STRIDE,
    CellLayout,
    cell_width,
)

NOWHERE = np.iinfo(np.int32).max  # key of no cell, after all others
CHUNK = 2**22  # numbers of one chunk of a processor
NODES = 32  # of the quadrature for Chebyshev coefficients
MOMENT_TERMS = (((0, 0, 1.0),), ((1, 0, 1.0),), ((0, 1, 1.0),), ((2, 0, 1.0), (0, 2, -1.0)))
MOMENT_TERMS += (((1, 1, 2.0),),)
"""Angular moments 1, u, v, u^2 - v^2, 2 u v, as sums of powers of u, powers of v and factors."""


class Cells(NamedTuple):
    """Where the points are, and which cells see each other."""

    basis: Float[Array, "n 2 q"]
    """Chebyshev polynomials of the local coordinates of every point."""
    point: Int[Array, "b m"]
    """Points of every block, any where there is none."""
    real: Bool[Array, "b m"]
    """Whether a slot of a block holds a point."""
    cell: Int[Array, " b"]
    """Cell of every block."""
    slot: Int[Array, " n"]
    """Number of every point's slot among those of all blocks."""
    first: Int[Array, "v r"]
    """Cells in reach of every column along the first coordinate, one beyond the last for none."""
    second: Int[Array, "u r"]
    """Columns in reach of every cell along the second coordinate, likewise."""
    exceeded: Bool[Array, ""]
    """Whether the points do not fit the layout."""


def find_cells(x: Inputs, mask: Mask, width: float, layout: CellLayout) -> Cells:
    """Sort the points (n, 2) into cells and blocks; those with mask zero are in none."""
    side, present = cell_width(width), mask > 0
    cell = jnp.clip(jnp.floor(jax.lax.stop_gradient(x) / side), -FARTHEST, FARTHEST)
    # Exact in float32: see cell_width.
    basis = _chebyshev(2 * (x - cell * side) / side - 1, layout.accuracy.order)
    column, row = (jnp.int32(STRIDE // 2) + cell.astype(jnp.int32)).T
    keys = jnp.where(present, STRIDE * column + row, NOWHERE)
    order = jnp.argsort(keys).astype(jnp.int32)
    cells, too_many_cells = _distinct(keys[order], layout.cells)
    steps = jnp.arange(-layout.accuracy.reach, layout.accuracy.reach + 1, dtype=jnp.int32)
    spread = jnp.where((cells < NOWHERE)[:, None], cells[:, None] + STRIDE * steps[None], NOWHERE)
    columns, too_many_columns = _distinct(jnp.sort(spread.reshape(-1)), layout.columns)
    blocks, too_many_blocks = _blocks(keys, order, cells, layout.blocks)
    outside = jnp.any(jnp.where(present[:, None], jnp.abs(x), 0.0) > (FARTHEST + 1) * side)
    packed = jnp.any(present & (mask != 1))
    exceeded = too_many_cells | too_many_columns | too_many_blocks | outside | packed
    first = _lookup(cells, columns[:, None] + STRIDE * steps[None])
    second = _lookup(columns, cells[:, None] + steps[None])
    return Cells(basis, *blocks, first, second, exceeded)


def _blocks(keys: Int[Array, " n"], order: Int[Array, " n"], cells: Int[Array, " u"], size: int):
    """Points, whether they are any, and cell of every block; the slot of every point."""
    n, ordered = len(keys), keys[order]
    start = _searchsorted(ordered, cells, "left")
    count = jnp.where(cells < NOWHERE, _searchsorted(ordered, cells, "right") - start, 0)
    needed = -(-count // BLOCK)
    ends, number = jnp.cumsum(needed, dtype=jnp.int32), jnp.arange(size, dtype=jnp.int32)
    before = ends - needed  # blocks of earlier cells
    cell = jnp.minimum(_searchsorted(ends, number, "right"), len(cells) - 1)
    rank = BLOCK * (number - before[cell])
    rank = rank[:, None] + jnp.arange(BLOCK, dtype=jnp.int32)[None]
    point = order[jnp.minimum(start[cell][:, None] + rank, n - 1)]
    own = jnp.minimum(_searchsorted(cells, keys, "left"), len(cells) - 1)
    position = jnp.zeros_like(order).at[order].set(jnp.arange(n, dtype=jnp.int32))
    slot = jnp.clip(BLOCK * before[own] + position - start[own], 0, BLOCK * size - 1)
    return (point, rank < count[cell][:, None], cell, slot), ends[-1] > size


class GaussianSums(eqx.Module):
    """Sums over all points with Gaussian weights of one width, by cells.

    Attributes:
        cells: Where the points are.
        width: Standard deviation of the weights, in units of the inputs.
        layout: Sizes of the arrays.
        angular: Whether to take the angular moments too.
    """

    cells: Cells
    width: float = eqx.field(static=True, converter=float)
    layout: CellLayout = eqx.field(static=True)
    angular: bool = eqx.field(static=True, default=False)

    def __call__(self, f: Float[Array, "n c"]) -> Float[Array, "k n c"]:
        """Map (n, c) to (1, n, c), or to (5, n, c) with the other moments.

        NaN where the points do not fit the layout, or masks are not 0 or 1.
        """
        cells, channels, q = self.cells, f.shape[1], self.layout.accuracy.order
        terms = MOMENT_TERMS if self.angular else MOMENT_TERMS[:1]
        matrices = _translations(self.width, self.layout, terms)
        one_way, other_way = (jnp.asarray(matrix, cells.basis.dtype) for matrix in matrices)

        def moments(rows):
            point, real = rows
            return _einsum("bip,bic->bpc", self._polynomials(point), f[point] * real[..., None])

        def evaluated(rows):
            point, cell = rows
            local = targets[cell].reshape(len(cell), len(terms), q * q, channels)
            return _einsum("bip,bkpc->bikc", self._polynomials(point), local)

        size = max(chunk_scale() * CHUNK // (q * q * max(BLOCK, len(terms) * channels)), 1)
        blocks = map_in_chunks(moments, (cells.point, cells.real.astype(one_way.dtype)), size)
        sources = jax.ops.segment_sum(
            blocks, cells.cell, self.layout.cells, indices_are_sorted=True
        ).reshape(self.layout.cells, q, q, channels)
        columns = _translated(sources, cells.first, one_way, "grts,vrsyc->vgtyc")
        targets = _translated(columns, cells.second, other_way, "kgrys,urgtsc->uktyc")
        values = map_in_chunks(evaluated, (cells.point, cells.cell), size)
        values = values.reshape(-1, len(terms), channels)[cells.slot]
        return jnp.moveaxis(jnp.where(cells.exceeded, jnp.nan, values), 1, 0)

    def _polynomials(self, point: Int[Array, "b m"]) -> Float[Array, "b m p"]:
        """Products of the polynomials of both coordinates."""
        u, v = self.cells.basis[point][:, :, 0], self.cells.basis[point][:, :, 1]
        return (u[..., :, None] * v[..., None, :]).reshape(*point.shape, -1)


def kept_numbers(layout: CellLayout, angular: bool) -> int:
    """Moments of all cells that are kept at once for one channel."""
    powers, terms = (3, len(MOMENT_TERMS)) if angular else (1, 1)
    return layout.accuracy.order**2 * max(terms * layout.cells, powers * layout.columns)


_einsum = functools.partial(jnp.einsum, precision="highest")


def _translated(sources: Array, index: Int[Array, "v r"], matrix: Array, pattern: str) -> Array:
    """Moments at cells from those of the cells in reach, by one matrix for each."""
    padded = jnp.concatenate([sources, jnp.zeros_like(sources[:1])])
    size = max(chunk_scale() * CHUNK // (index.shape[1] * padded[0].size), 1)
    return map_in_chunks(lambda rows: _einsum(pattern, matrix, padded[rows]), index, size)


@functools.lru_cache(maxsize=64)
def _translations(width: float, layout: CellLayout, terms: tuple) -> tuple[np.ndarray, np.ndarray]:
    """Matrices (g, r, q, q) along the first coordinate and (k, g, r, q, q) along the second."""
    powers = range(1 + max(power for term in terms for power, _, _ in term))
    matrices = np.stack([_expansion(width, layout, power) for power in powers])
    second = np.zeros((len(terms), *matrices.shape))
    for k, term in enumerate(terms):
        for power, other, factor in term:
            second[k, power] += factor * matrices[other]
    return matrices, second


def _expansion(width: float, layout: CellLayout, power: int) -> np.ndarray:
    """Chebyshev coefficients (r, q, q) of w^power exp(-w^2 / 2), w = (source - target) / width."""
    (order, reach), ratio = layout.accuracy, cell_width(width) / width
    angles = np.pi * (np.arange(NODES) + 0.5) / NODES
    node, degree = np.cos(angles), np.arange(order)
    project = np.cos(degree[:, None] * angles) * np.where(degree > 0, 2, 1)[:, None] / NODES
    steps = np.arange(-reach, reach + 1)[:, None, None]
    w = ratio * (steps + (node[None, None, :] - node[None, :, None]) / 2)
    return project @ (w**power * np.exp(-0.5 * w**2)) @ project.T


def _chebyshev(u: Float[Array, "n 2"], order: int) -> Float[Array, "n 2 q"]:
    values = [jnp.ones_like(u), u]
    for _ in range(order - 2):
        values.append(2 * u * values[-1] - values[-2])
    return jnp.stack(values, axis=-1)


def _searchsorted(keys, query, side: str) -> Array:
    return jnp.searchsorted(keys, query, side=side).astype(jnp.int32)


def _distinct(ordered: Int[Array, " n"], size: int) -> tuple[Int[Array, " u"], Bool[Array, ""]]:
    """The distinct ones of sorted keys, and whether there are more than `size`."""
    new = jnp.concatenate([jnp.ones(1, bool), ordered[1:] != ordered[:-1]]) & (ordered < NOWHERE)
    number = jnp.cumsum(new, dtype=jnp.int32) - 1
    distinct = jnp.full(size, NOWHERE, jnp.int32)
    distinct = distinct.at[jnp.where(new, number, size)].set(ordered, mode="drop")
    return distinct, number[-1] >= size


def _lookup(keys: Int[Array, " u"], query: Int[Array, "v r"]) -> Int[Array, "v r"]:
    """Positions of keys in a sorted list, its length where they are not in it."""
    index = jnp.minimum(_searchsorted(keys, query, "left"), len(keys) - 1)
    return jnp.where((keys[index] == query) & (query < NOWHERE), index, len(keys))
