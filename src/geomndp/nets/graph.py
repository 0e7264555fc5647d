"""Radius graphs, built on the device in memory linear in the number of points.

All pairs of points of one function nearer than the radius are neighbours. Unlike the k nearest,
which are ambiguous on a regular grid, they turn with the inputs. Every point has the same number
of slots; where more points are within the radius, the nearest ones of each other are kept, and
`missed` counts the rest.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp

from geomndp._types import Array, Bool, Float, Inputs, Int, Mask
from geomndp.nets.cells import candidates

DENSE = 1024  # up to so many points, all pairs are compared
CANDIDATES = 2  # room of a stretch of cells over the slots of a point


class Graph(eqx.Module):
    """Slots of every point; a free one points to the point itself."""

    index: Int[Array, "n k"]
    reverse: Int[Array, "n k"]
    """Flat position of the same edge in the list of its other end."""
    offset: Float[Array, "n k d"]
    """x_j - x_i, differentiable."""
    real: Bool[Array, "n k"]
    missed: Int[Array, ""]
    """Pairs within the radius (both ways counted) that found no slot."""


def radius_graph(x: Inputs, mask: Mask, radius: float, slots: int) -> Graph:
    """Connect points of one function (equal positive masks) that are nearer than the radius."""
    index, real, found = _nearest(jax.lax.stop_gradient(x), mask, radius, slots)
    index, reverse, real = _mutual(index, real)
    missed = found - jnp.sum(real, dtype=jnp.int32)
    return Graph(index, reverse, x[index] - x[:, None, :], real, missed)


def _nearest(x: Inputs, mask: Mask, radius: float, slots: int):
    """Nearest points within the radius, at most `slots`; and how many pairs there are."""
    n = len(x)
    if n <= DENSE:
        others = jnp.broadcast_to(jnp.arange(n, dtype=jnp.int32)[None, :], (n, n))
        unseen = jnp.zeros((), jnp.int32)
    else:
        others, unseen = candidates(x, mask, radius, CANDIDATES * slots)
    own = jnp.arange(n, dtype=jnp.int32)[:, None]
    square = jnp.sum((x[others] - x[:, None, :]) ** 2, axis=-1)
    near = (others != own) & (mask[others] == mask[:, None]) & (mask > 0)[:, None]
    near = near & (square < radius**2)
    count = jnp.sum(near, dtype=jnp.int32) + unseen
    slots = min(slots, others.shape[1])
    best, place = jax.lax.top_k(jnp.where(near, -square, -jnp.inf), slots)
    return jnp.take_along_axis(others, place, axis=1), jnp.isfinite(best), count


def _mutual(index: Int[Array, "n k"], real: Bool[Array, "n k"]):
    """Keep the edges that both ends have listed; where each stands in the other's list."""
    n, k = index.shape
    own = jnp.arange(n, dtype=index.dtype)[:, None]
    back = (index[index] == own[:, :, None]) & real[index]
    real = real & jnp.any(back, axis=2)
    place = jnp.argmax(back, axis=2).astype(index.dtype)
    index = jnp.where(real, index, own)
    slot = jnp.arange(k, dtype=index.dtype)[None, :]
    return index, k * index + jnp.where(real, place, slot), real
