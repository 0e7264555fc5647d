r"""Gaussian sums over a few thousand points by a Fourier series, whose basis all layers share.

In a periodic box of side P, as wide as the points and the reach of the weights together,

$e^{-|r|^2 / 2 s^2} = \sum_k g_k \cos(k \cdot r), \quad
g_k = \frac{2 \pi s^2}{P^2} e^{-s^2 |k|^2 / 2},$

with wave vectors $k \in \frac{2 \pi}{P} \mathbb{Z}^2$ in a disc. Features become coefficients,
these are multiplied by $g_k$, and by powers of $i s k$ for angular moments, which are derivatives
of the sum; cosines and sines at the points give the result. That is $n G$ products instead of
$n^2$, with fewer coefficients G than points where these are dense, and with moments a fifth of the
memory.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.spatial import KDTree

from geomndp._arrays import bucket_length
from geomndp._types import Array, Float, Inputs, Mask
from geomndp.nets.steerable_2d.cell_layout import TOLERANCE

CUT = 6.3
"""Wave numbers times the width, and distance of the periodic images over it, that count."""
TRUNCATION = 6e-9
"""Error of an average by `CUT`, moments included, over n / (its sum of weights)."""
ROUNDING = 4e-7
"""The same by float32, over the largest sum of weights / its own: what a cluster leaves at a lone
point cancels. Both are measured: features that are all one, or have the signs of half-planes and
random ones; lattices, uniform points, a cluster, coincident points, and lone ones beside these."""
MOST_ENTRIES = 2**26  # of the bases of all widths, 256 MiB in float32
PAIR = 1.75
"""Cost of a product with the weight of a pair, which is made anew, over one with a basis."""


class FourierLayout(NamedTuple):
    """The most that points of one function may extend along either coordinate."""

    extent: float


def fourier_layout(
    x: np.ndarray, widths: np.ndarray, angular: bool, tolerance: float = TOLERANCE
) -> FourierLayout | None:
    """The layout for these points, None where it would cost more or err more than all pairs.

    Args:
        x: Locations (n, 2).
        widths: Widths (H,) of the pooling.
        angular: Whether angular moments are taken too.
        tolerance: Largest error of an average, over the largest value that is averaged.
    """
    n, moments, narrowest = len(x), 5 if angular else 1, float(np.min(widths))
    extent = bucket_length(max(float(np.max(np.ptp(x, axis=0))), narrowest))
    layout = FourierLayout(extent)
    fewest = (extent / narrowest) ** 2  # of the narrowest width: more would be long lists in vain
    if fewest > min(MOST_ENTRIES / n, PAIR * len(widths) * n):
        return None
    count = sum(2 * len(_numbers(width, layout)) for width in widths)
    if n * count > MOST_ENTRIES or (1 + moments) * count > PAIR * moments * len(widths) * n:
        return None
    return layout if error_bound(x, narrowest) <= tolerance else None


def error_bound(x: np.ndarray, width: float) -> float:
    """Error of an average at the loneliest point, from counts of the points within a width.

    These are half of the sum of weights where points are uniform, and all of it in a cluster.
    """
    near = KDTree(x).query_ball_point(x, width, return_length=True)
    least, most = 1 + math.exp(-0.5) * (int(np.min(near)) - 1), 2 * int(np.max(near))
    return (TRUNCATION * len(x) + ROUNDING * most) / least


def _period(width: float, layout: FourierLayout) -> float:
    return float(layout.extent + CUT * width)


@functools.lru_cache(maxsize=64)
def _numbers(width: float, layout: FourierLayout) -> np.ndarray:
    """Integers (g, 2) of the wave vectors: half of a disc, since k and -k share their cosine."""
    radius = CUT * _period(width, layout) / (2 * math.pi * width)
    side = np.arange(-int(radius), int(radius) + 1)
    p, q = (part.reshape(-1) for part in np.meshgrid(side, side, indexing="ij"))
    half = (p > 0) | ((p == 0) & (q >= 0))
    return np.stack([p, q], axis=1)[half & (p**2 + q**2 <= radius**2)]


class FourierSums(eqx.Module):
    """Sums over all points, of which the basis is kept; see `fourier_sums`."""

    basis: Float[Array, "n g"]
    width: float = eqx.field(static=True)
    layout: FourierLayout = eqx.field(static=True)
    angular: bool = eqx.field(static=True)

    def __call__(self, f: Float[Array, "n c"]) -> Float[Array, "k n c"]:
        """Sums of features, and of their moments."""
        factors = (jnp.asarray(v, f.dtype) for v in _factors(self.width, self.layout))
        einsum = functools.partial(jnp.einsum, precision="highest")
        cosine, sine = jnp.split(einsum("nc,ng->cg", f, self.basis), 2, axis=1)
        pairs = [(cosine, sine), (sine, -cosine), (cosine, sine)]
        moments = [
            jnp.concatenate([factor[:, None] * a[None], factor[:, None] * b[None]], axis=2)
            for factor, (a, b) in zip(factors, pairs if self.angular else pairs[:1], strict=False)
        ]
        return einsum("kcg,ng->knc", jnp.concatenate(moments), self.basis)


def _factors(width: float, layout: FourierLayout) -> tuple[np.ndarray, ...]:
    """Coefficients (1, g), (2, g), (2, g) of the weights, and of moments of orders one and two."""
    numbers, period = _numbers(width, layout), _period(width, layout)
    k = 2 * np.pi / period * numbers.T * width
    twice = np.where(np.any(numbers != 0, axis=1), 2, 1)
    g = twice * 2 * np.pi * (width / period) ** 2 * np.exp(-0.5 * np.sum(k**2, axis=0))
    return g[None], g * k, np.stack([g * (k[1] ** 2 - k[0] ** 2), -2 * g * k[0] * k[1]])


def fourier_sums(
    x: Inputs, mask: Mask, width: float, layout: FourierLayout, angular: bool
) -> FourierSums:
    """The map of features to sums over all points, with Gaussian weights of one width.

    Args:
        x: Locations (n, 2).
        mask: (n,), 1 for points and 0 for padding.
        width: Standard deviation of the weights, in units of the inputs.
        layout: Of these points.
        angular: Whether to take the angular moments too.

    Returns:
        Map of (n, c) to (1, n, c), or to (5, n, c) with the other moments. NaN where the points do
        not fit the layout, or masks are not 0 or 1.
    """
    numbers, period = _numbers(width, layout), _period(width, layout)
    return FourierSums(_basis(x, mask, numbers, period, layout), float(width), layout, angular)


def _basis(
    x: Inputs, mask: Mask, numbers: np.ndarray, period: float, layout: FourierLayout
) -> Float[Array, "n g"]:
    """Cosines, then sines, of k x, zero for padding, by the theorem of addition."""
    present = (mask > 0)[:, None]
    fixed = jax.lax.stop_gradient(x)
    low = jnp.min(jnp.where(present, fixed, jnp.inf), axis=0)
    high = jnp.max(jnp.where(present, fixed, -jnp.inf), axis=0)
    wrong = jnp.any(high - low > layout.extent) | jnp.any(present[:, 0] & (mask != 1))
    centre = jnp.where(jnp.isfinite(low), (low + high) / 2, 0.0)
    phase = 2 * math.pi / period * jnp.where(present, x - centre[None], 0.0)
    multiples = np.arange(np.max(np.abs(numbers)) + 1)
    angles = phase[..., None] * jnp.asarray(multiples, x.dtype)[None, None]

    def chosen(values, i):  # values[:, |numbers_i|], by products: a CPU gathers slowly
        picked = multiples[:, None] == np.abs(numbers[:, i])[None]
        return jnp.matmul(values[:, i], jnp.asarray(picked, x.dtype), precision="highest")

    sign = jnp.asarray(np.sign(numbers[:, 1]), x.dtype)[None]  # the first is never negative
    (a, b), (c, d) = ((chosen(jnp.cos(angles), i), chosen(jnp.sin(angles), i)) for i in (0, 1))
    basis = jnp.concatenate([a * c - b * (sign * d), b * c + a * (sign * d)], axis=1)
    return jnp.where(wrong, jnp.nan, jnp.where(present, basis, 0.0))
