r"""Tracks in a local frame: coordinates to the east and to the north of one context point.

The anchor is a context point; all others become $c = (e, n) \log_{anchor} y$, in radians.
Predictors are the context coordinates, the sine of the anchor's latitude and its square, and the
products.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp

from geomndp._types import Array, Float, Int, Mask
from geomndp.baselines.tracks.context import SPHERE, ContextPoints, UnitVectors
from geomndp.geometry.geodesy import east_and_north
from geomndp.linalg import zero_masked


def to_local(anchor: Float[Array, " 3"], y: UnitVectors) -> Float[Array, "n 2"]:
    """Coordinates to the east and to the north of the anchor, in radians."""
    v = SPHERE.log(jnp.broadcast_to(anchor, y.shape), y)
    return v @ east_and_north(anchor).T


def from_local(anchor: Float[Array, " 3"], c: Float[Array, "n 2"]) -> UnitVectors:
    """Points with these coordinates."""
    v = c @ east_and_north(anchor)
    return SPHERE.exp(jnp.broadcast_to(anchor, v.shape), v)


def log_area(c: Float[Array, "n 2"]) -> Float[Array, " n"]:
    r"""$\log \sin r / r$: area on the sphere for that in the plane, at distance r."""
    return jnp.log(jnp.sinc(jnp.sqrt(jnp.sum(c**2, axis=1)) / jnp.pi))


def features(
    anchor: Float[Array, " 3"], others: Float[Array, "m 3"], mask: Float[Array, " m"]
) -> Float[Array, " f"]:
    """Predictors of one track, from its anchor and the other context points."""
    coordinates, lat = zero_masked(to_local(anchor, others), mask).reshape(-1), anchor[2]
    one = jnp.ones_like(lat)
    return jnp.concatenate([jnp.stack([one, lat, lat**2]), coordinates, lat * coordinates])


def num_features(num_context: int) -> int:
    """Number of predictors given so many context points."""
    return 3 + 4 * (num_context - 1)


class Roles(NamedTuple):
    """Which row of the context points is the anchor, and the others with their mask."""

    anchor: Int[Array, ""]
    others: Int[Array, " m"]
    mask: Float[Array, " m"]

    def predictors(self, y: ContextPoints) -> Float[Array, " f"]:
        """Predictors of one track from its context points."""
        return features(y[self.anchor], y[self.others], self.mask)


def choose_roles(
    context: Int[Array, " c"],
    mask: Float[Array, " c"] | None,
    targets: Int[Array, " k"],
    target_mask: Mask | None,
) -> Roles:
    """The last context point before the targets is the anchor: there the frame fits best."""
    real = jnp.ones(len(context), bool) if mask is None else mask > 0
    wanted = jnp.ones(len(targets), bool) if target_mask is None else target_mask > 0
    beyond = jnp.iinfo(context.dtype).max
    first = jnp.min(jnp.where(wanted, targets, beyond), initial=beyond)
    before = real & (context < first)
    last_before = jnp.argmax(jnp.where(before, context, -1))
    earliest = jnp.argmin(jnp.where(real, context, beyond))
    anchor = jnp.where(jnp.any(before), last_before, earliest)
    rows = jnp.arange(len(context) - 1)
    others = rows + (rows >= anchor).astype(rows.dtype)
    return Roles(anchor, others, real[others].astype(float))
