r"""Gaussian averages over all points of a field, and their angular moments.

Channels are divided among H widths $s_h$, and each is averaged with Gaussian weights of its width,

$(S_h f)_i = \sum_j w_{ij} f_j / \sum_j w_{ij}, \quad w_{ij} = e^{-|x_i - x_j|^2 / 2 s_h^2}.$

The weights are invariant scalars that depend on the inputs alone, so that vectors and tensors
transform as they should, functions at common inputs share them, and what is left to do is one
matrix product. Angular moments have the factor $((x_j - x_i) / s_h)^k$ in complex numbers,
k = 1, 2: derivatives of a Gaussian, of which the covariance of a gradient field is made. Without
them derivatives come from neighbours alone, which sparse points hardly have. Sums over few points
compare all pairs; with a `FourierLayout` per width they are products with fewer coefficients than
points, and with a `CellLayout` their cost is linear in the points.

On a curved surface differences are logarithm maps, and features come by parallel transport.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from geomndp._arrays import chunk_scale
from geomndp._types import Array, Float, Mask
from geomndp.nets.graph import map_in_chunks
from geomndp.nets.steerable_2d.pooling_layouts import PoolingLayouts, pooling_by_sums

NARROWEST, WIDEST = 0.75, 3.0  # widths of the pooling over the radius of the neighbours
PAIRS = 2**20  # up to so many pairs of points the weights are kept, 1024 points
BLOCK = 2**22  # pairs in one block of a processor where there are more: memory linear in the points
MOMENTS = (0, 1, 1, 2, 2)  # powers of the direction: 1, then real and imaginary parts
Pool = Callable[[Float[Array, "n f h c"]], Float[Array, "k f n h c"]]


class Pairs(NamedTuple):
    """Geometry of pairs, such as all of m rows and n points."""

    offset: Float[Array, "*pairs 2"]
    """From the row to the point, in the frame of the row."""
    transport: Float[Array, "*pairs 2"] | None = None
    """Phase of parallel transport of order 1 from the point to the row; None in flat space."""
    factor: Float[Array, "*pairs"] | None = None
    """Factor of the weights, zero where transport is undefined; None for ones."""


def planar_pairs(rows: Float[Array, "m 2"], points: Float[Array, "n 2"]) -> Pairs:
    """Differences of locations (m, 2) and (n, 2)."""
    return Pairs(points[None] - rows[:, None])


def pooling_widths(radius: float, num_widths: int) -> np.ndarray:
    """Widths of the pooling, in units of the inputs."""
    return radius * np.geomspace(NARROWEST, WIDEST, num_widths)


def gaussian_pooling(
    points: Any,
    mask: Mask,
    radius: float,
    num_widths: int,
    dtype: jnp.dtype,
    angular: bool = False,
    layouts: PoolingLayouts = (),
    pairs: Callable[[Any, Any], Pairs] = planar_pairs,
) -> tuple[Float[Array, "n h"], Pool]:
    """The function that averages over all points of one function (equal positive masks).

    Args:
        points: Locations (n, 2), or all that `pairs` takes, arrays of n rows.
        mask: (n,), zero where a row is padding.
        radius: That of the neighbours, of which the widths are multiples.
        num_widths: Number H of widths.
        dtype: Dtype of the weights.
        angular: Whether to take angular moments too.
        layouts: Of locations in the plane, one per width for many points (see `pooling_layouts`),
            none for a comparison of all pairs.
        pairs: The geometry of some of the points, as rows, and all of them.

    Returns:
        Sums of the weights of every point and width, at least 1 for a point that is no padding, and
        a map of features (n, f, H, c) to their averages (1, f, n, H, c), or these and the other
        `MOMENTS`.
    """
    if layouts:
        return pooling_by_sums(
            points, mask, pooling_widths(radius, num_widths), dtype, angular, layouts
        )
    widths = tuple(map(float, pooling_widths(radius, num_widths)))
    weights = PairWeights(points, mask, pairs, widths, angular, dtype)
    if len(mask) ** 2 > PAIRS:
        return weights.counts(), BlockPooling(weights)
    seen, raw = weights.raw((points, mask))
    return jnp.sum(raw, axis=1).T, KeptPooling(weights.shares(seen, raw))


class PairWeights(eqx.Module):
    """Weights of all pairs of points of one function; arguments are those of `gaussian_pooling`."""

    points: Any
    mask: Mask
    pairs: Callable[[Any, Any], Pairs] = eqx.field(static=True)
    widths: tuple[float, ...] = eqx.field(static=True)
    angular: bool = eqx.field(static=True)
    dtype: jnp.dtype = eqx.field(static=True)

    def raw(self, rows: Any) -> tuple[Pairs, Float[Array, "h n m"]]:
        """Geometry and weights of all n points for m rows (of points and mask)."""
        row_points, row_mask = rows
        seen = self.pairs(row_points, self.points)
        seen: Pairs = jax.tree.map(lambda leaf: jnp.swapaxes(leaf, 0, 1), seen)
        square = jnp.sum(seen.offset**2, axis=-1)
        same = (row_mask[None] == self.mask[:, None]) & (self.mask > 0)[:, None]
        raw = jnp.exp(-0.5 * square[None] / self._widths(square.dtype)[:, None, None] ** 2)
        raw = raw if seen.factor is None else raw * seen.factor[None]
        return seen, jnp.where(same[None], raw, 0.0)

    def shares(self, seen: Pairs, raw: Float[Array, "h n m"]) -> MomentWeights:
        """Weights of averages and moments."""
        mean = raw / jnp.maximum(jnp.sum(raw, axis=1, keepdims=True), 1e-6)
        widths = self._widths(raw.dtype)[:, None, None, None]
        moments = _moments(mean, seen.offset[None] / widths, self.angular)
        return _transported(moments, seen.transport, self.dtype)

    def counts(self) -> Float[Array, "n h"]:
        """Sums of the weights of every point."""
        return self.in_blocks(lambda rows: jnp.sum(self.raw(rows)[1], axis=1).T)

    def in_blocks(self, function: Callable[[Any], Array]) -> Array:
        """A function of rows (of points and mask), block by block."""
        size = chunk_scale() * BLOCK // (len(self.mask) * (len(MOMENTS) if self.angular else 1))
        return map_in_chunks(function, (self.points, self.mask), max(size, 1))

    def _widths(self, dtype: Any) -> Float[Array, " h"]:
        return jnp.asarray(self.widths, dtype)


class KeptPooling(eqx.Module):
    """Averages with weights that are kept."""

    shares: MomentWeights

    def __call__(self, features: Float[Array, "n f h c"]) -> Float[Array, "k f n h c"]:
        """Average, with all moments."""
        return _average(self.shares, features)


class BlockPooling(eqx.Module):
    """Averages with weights that are made anew, block by block."""

    weights: PairWeights

    def __call__(self, features: Float[Array, "n f h c"]) -> Float[Array, "k f n h c"]:
        """Average, with all moments."""

        def averaged(rows):
            shares = self.weights.shares(*self.weights.raw(rows))
            return jnp.moveaxis(_average(shares, features), 2, 0)

        return jnp.moveaxis(self.weights.in_blocks(averaged), 0, 2)


def _moments(
    mean: Float[Array, "h n m"], offset: Float[Array, "h n m 2"], angular: bool
) -> Float[Array, "h n k m"]:
    """Weights of the average alone, or of all moments."""
    if not angular:
        return mean[:, :, None]
    u, v = offset[..., 0], offset[..., 1]
    factors = jnp.stack([jnp.ones_like(u), u, v, u**2 - v**2, 2 * u * v], axis=2)
    return mean[:, :, None] * factors


MomentWeights = tuple[Float[Array, "..."], ...]
"""Weights (h, n, k, m) of all orders, or those of order 0 and (2, h, n, k, m) of each other one:
weights times the cosine and the sine of its transport. Those of one point for all rows stand side
by side: the order in which a CPU multiplies fastest."""


def _transported(
    moments: Float[Array, "h n k m"], transport: Float[Array, "n m 2"] | None, dtype: jnp.dtype
) -> MomentWeights:
    if transport is None:
        return (moments.astype(dtype),)
    a, b = transport[..., 0], transport[..., 1]
    phases = (jnp.stack([a, b]), jnp.stack([a**2 - b**2, 2 * a * b]))
    turned = [(moments[None] * phase[:, None, :, None]).astype(dtype) for phase in phases]
    return moments.astype(dtype), *turned


def _average(shares: MomentWeights, h: Float[Array, "n f h c"]) -> Float[Array, "k f m h c"]:
    """Sums of features times their weights, after transport where there is one."""
    first, *others = shares
    if not others:
        return jnp.einsum("hjki,jfhc->kfihc", first, h)
    parts = [jnp.einsum("hjki,jfhc->kfihc", first, h[:, :2])]
    for order, weights in enumerate(others, start=1):
        both = jnp.einsum("ahjki,jfhc->akfihc", weights, h[:, 2 * order : 2 * order + 2])
        cosine, sine = both[0], both[1]
        real = cosine[:, 0] - sine[:, 1]
        parts.append(jnp.stack([real, cosine[:, 1] + sine[:, 0]], axis=1))
    return jnp.concatenate(parts, axis=1)
