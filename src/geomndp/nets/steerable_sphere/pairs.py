r"""Geometry of two points of the unit sphere, in their own tangent frames.

With $E = e + i n$ of a frame (e, n), features of order m of a tangent vector v are powers of
$E \cdot v$. From $x_j$ to $x_i$, $u = x_i \cdot x_j = \cos\theta$,

$\log_{x_i} x_j = \frac{\theta}{\sin\theta} E_i \cdot x_j, \qquad
c = \tfrac12 [E_i \cdot \bar E_j - (E_i \cdot x_j)(x_i \cdot \bar E_j) / (1 + u)]$

are the logarithm map and the phase of parallel transport along the geodesic: order m is multiplied
by $c^m$. Both are smooth at coincident points, whatever the frames. At antipodes neither exists, so
that sums over pairs carry a factor that vanishes there with its first three derivatives. Lengths
come from $x_j - x_i$ and $x_j + x_i$, of which the shorter one is exact.

Inner products of the phase are matrix products: sums over the three coordinates of $E_j$ times a
difference were compiled to wrong values by XLA for CPUs (jaxlib 0.10.2, float32, some hundred
points), see tests/nets/test_sphere_compiled.py.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from geomndp._types import Array, Float
from geomndp.nets.steerable_2d.gaussian_pooling import Pairs

NEAR = 1e-3  # of sin^2(theta / 2): nearer points have a series, whose next term is below 1e-18
SERIES = (1.0, 2 / 3, 8 / 15, 16 / 35, 128 / 315, 256 / 693)  # of theta / sin(theta)


class FramedPoints(NamedTuple):
    """Points of the sphere with the frames of their features."""

    x: Float[Array, "*n 3"]
    frame: Float[Array, "*n 2 3"]
    """Orthonormal tangent vectors e and n, with e x n = x."""


def pair_geometry(here: FramedPoints, there: FramedPoints) -> Pairs:
    """Logarithm map, transport and factor of one pair: features come from there to here.

    Args:
        here: The point that receives, x of shape (3,).
        there: The point that sends.
    """
    difference, total = there.x - here.x, there.x + here.x
    sine_square, cosine_square = jnp.sum(difference**2) / 4, jnp.sum(total**2) / 4  # of theta / 2
    close = sine_square < cosine_square
    shorter = jnp.where(close, difference, total)
    floor = jnp.maximum(cosine_square, jnp.finfo(shorter.dtype).eps ** 2)
    offset = _angle_over_sine(sine_square, floor) * jnp.sum(here.frame * shorter[None], axis=1)
    towards, back = _product(here.frame, there.x), _product(there.frame, here.x)
    inner = _product(here.frame, there.frame.T)
    a, b = inner - towards[:, None] * back[None, :] / (2 * floor)
    transport = 0.5 * jnp.stack([a[0] + b[1], b[0] - a[1]])
    return Pairs(offset, transport, cosine_square**2 * (3 - 2 * cosine_square))


def _product(a: Array, b: Array) -> Array:
    return jnp.matmul(a, b, precision="highest")


def _angle_over_sine(sine_square: Float[Array, ""], cosine_square: Float[Array, ""]) -> Array:
    """theta / sin(theta) from squares at theta / 2, finite with its gradient."""
    near = sine_square < NEAR
    series = jnp.polyval(jnp.asarray(SERIES[::-1], sine_square.dtype), sine_square)
    sine = jnp.sqrt(jnp.where(near, 0.25, sine_square))
    cosine = jnp.sqrt(jnp.where(near, 0.75, cosine_square))
    return jnp.where(near, series, jnp.arctan2(sine, cosine) / (sine * cosine))


def all_pairs(rows: FramedPoints, points: FramedPoints) -> Pairs:
    """Geometry of every pair of m rows and n points."""
    return jax.vmap(lambda row: jax.vmap(lambda point: pair_geometry(row, point))(points))(rows)


def neighbour_pairs(points: FramedPoints, neighbours: FramedPoints) -> Pairs:
    """Geometry of n points and k neighbours of each."""
    each = jax.vmap(pair_geometry, in_axes=(None, 0))
    return jax.vmap(each)(points, neighbours)
