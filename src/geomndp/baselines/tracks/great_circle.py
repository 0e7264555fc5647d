"""Curves through the context points: what a forecaster draws from one storm alone."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from geomndp._types import Array, Float, Int
from geomndp.baselines.tracks.base import AbstractPointBaseline
from geomndp.baselines.tracks.context import SPHERE, ContextPoints, Targets, TrackContext

Shares = Float[Array, "k 1"]
Index = Int[Array, " k"]


def slerp(start: Targets, end: Targets, share: Shares) -> Targets:
    """Spherical linear interpolation between points.

    Args:
        start: Unit vectors, shape (k, 3).
        end: Unit vectors, shape (k, 3).
        share: 0 at `start` and 1 at `end`, shape (k, 1); other numbers extrapolate.

    Returns:
        Points of the great circles, shape (k, 3).
    """
    return SPHERE.exp(start, share * SPHERE.log(start, end))


class GeodesicExtrapolation(NamedTuple):
    """The great circle from one context point through another, at constant speed.

    `share` is 0 at the first point and 1 at the other; it may be negative.
    """

    start: Index
    through: Index
    share: Shares

    def points(self, y: ContextPoints) -> Targets:
        """Where it leads, given the context points."""
        return slerp(y[self.start], y[self.through], self.share)


class SortedContext(NamedTuple):
    """Context times in their order, and how many of them are before each target."""

    times: Float[Array, " c"]
    order: Int[Array, " c"]
    last: Int[Array, ""]
    before: Index

    def extrapolation(self, start: Index, through: Index, at: Array) -> GeodesicExtrapolation:
        """Between the context points of these time indices, at the times `at`."""
        first, other = self.times[start], self.times[through]
        share = (at - first) / (other - first)
        return GeodesicExtrapolation(self.order[start], self.order[through], share[:, None])


def sort_context(context: TrackContext, at: Float[Array, " k"]) -> SortedContext:
    """Sort context points by time."""
    times = context.times()
    order = jnp.argsort(times)
    before = jnp.searchsorted(times[order], at, side="right")
    last = jnp.asarray(context.num_real() - 1, jnp.int32)
    return SortedContext(times[order], order, last, before.astype(jnp.int32))


class AbstractCurve(AbstractPointBaseline):
    """A curve through the context points; nothing is learnt from tracks."""

    @classmethod
    def fit(cls, x, y, **options: Any):
        """Make the baseline.

        Args:
            x: Not used.
            y: Not used.
            **options: Its attributes.

        Returns:
            The baseline.
        """
        return cls(**options)

    def check_times(self, context, targets):
        """Raise ValueError for fewer than two context points."""
        if len(context) < 2:
            raise ValueError(f"expected at least 2 context points, got {len(context)}")


class Persistence(AbstractCurve):
    """The storm keeps its last velocity, along a great circle.

    Targets before the first context point go backwards; those between context points start from the
    last one before them.

    Attributes:
        steps: The velocity is that of so many last steps between context points.
    """

    steps: int = eqx.field(default=1, static=True)

    def predict_mean(self, context, x, mask):
        """Great circles from the last context point before each target."""
        ordered = sort_context(context, x[:, 0])
        start = jnp.clip(ordered.before - 1, 0, ordered.last)
        through = jnp.where(start == 0, 1, jnp.maximum(start - self.steps, 0))
        return ordered.extrapolation(start, through, x[:, 0]).points(context.y)


class GreatCircle(AbstractCurve):
    """Constant speed along the great circle between the neighbouring context points."""

    def predict_mean(self, context, x, mask):
        """Beyond the context points: the velocity of the last two, as in `Persistence`."""
        ordered = sort_context(context, x[:, 0])
        right = jnp.clip(ordered.before, 1, ordered.last)
        return ordered.extrapolation(right - 1, right, x[:, 0]).points(context.y)


class Hermite(AbstractCurve):
    """Cubic curve with the given positions and velocities at both ends of a gap.

    A cubic Bezier curve on the sphere: lines of de Casteljau's scheme become great circles, and
    the inner control points lie a third of the way along the velocities.

    Attributes:
        steps: Velocities are those of so many steps next to the gap.
    """

    steps: int = eqx.field(default=1, static=True)

    def check_times(self, context, targets):
        """Raise ValueError for targets that are not between context points."""
        super().check_times(context, targets)
        if np.any((targets < context.min()) | (targets >= context.max())):
            raise ValueError("expected every target between context points, got some beyond them")

    def predict_mean(self, context, x, mask):
        """Points of the curves."""
        at, y = x[:, 0], context.y
        ordered = sort_context(context, at)
        right = jnp.clip(ordered.before, 1, ordered.last)
        left = right - 1
        # The outer neighbours give the velocities; at the ends of the track the gap itself does.
        outer_left = jnp.where(left > 0, jnp.maximum(left - self.steps, 0), right)
        outer_right = jnp.where(
            right < ordered.last, jnp.minimum(right + self.steps, ordered.last), left
        )
        start, end = ordered.times[left], ordered.times[right]
        gap = end - start
        first = ordered.extrapolation(left, outer_left, start + gap / 3).points(y)
        second = ordered.extrapolation(right, outer_right, end - gap / 3).points(y)
        points = [y[ordered.order[left]], first, second, y[ordered.order[right]]]
        share = ((at - start) / gap)[:, None]
        while len(points) > 1:
            points = [slerp(one, next_one, share) for one, next_one in pairwise(points)]
        return points[0]
