"""Curves through the known points: what a forecaster draws without having seen any other storm."""

from itertools import pairwise

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from geomndp._types import Array, Float, Int
from geomndp.baselines.tracks.base import (
    SPHERE,
    AbstractBaseline,
    AbstractPointForecast,
    Targets,
    days,
)

Shares = Float[Array, "k 1"]
Index = Int[Array, " k"]


class GeodesicExtrapolation(AbstractPointForecast):
    """The great circle from one point through another, at constant speed.

    `share` is 0 at the first point and 1 at the other; it may be negative.
    """

    start: Index
    through: Index
    share: Shares

    def mean(self, yc):
        return slerp(yc[self.start], yc[self.through], self.share)


class Bezier(AbstractPointForecast):
    """Cubic Bezier curves on the sphere: lines of de Casteljau's scheme become great circles.

    The inner control points lie a third of the way along the velocities of `before` and `after`.
    """

    before: GeodesicExtrapolation
    left: Index
    right: Index
    after: GeodesicExtrapolation
    share: Shares

    def mean(self, yc):
        points = [yc[self.left], self.before.mean(yc), self.after.mean(yc), yc[self.right]]
        while len(points) > 1:
            pairs = pairwise(points)
            points = [slerp(first, second, self.share) for first, second in pairs]
        return points[0]


def slerp(start: Targets, end: Targets, share: Shares) -> Targets:
    """Point of the great circle from `start`, at 0, to `end`, at 1."""
    return SPHERE.exp(start, share * SPHERE.log(start, end))


def _extrapolation(times, start, through, at, dtype) -> GeodesicExtrapolation:
    share = (at - times[start]) / (times[through] - times[start])
    return GeodesicExtrapolation(
        jnp.asarray(start), jnp.asarray(through), jnp.asarray(share[:, None], dtype=dtype)
    )


def _known(xc, x):
    """Sorted times with their places, and how many of them are before each target."""
    times = days(xc)
    if len(times) < 2:
        raise ValueError(f"expected at least 2 known points, got {len(times)}")
    order, at = np.argsort(times), days(x)
    return times, order, np.searchsorted(times[order], at, side="right"), at


class Persistence(AbstractBaseline):
    """The storm keeps its last velocity, along a great circle.

    Targets before the first known point go backwards; those between known points start from the
    last one before them. The velocity is that of the last `steps` steps between known points.
    """

    steps: int = eqx.field(default=1, static=True)

    @classmethod
    def fit(cls, x, y, *, steps: int = 1):
        return cls(steps)

    def forecast(self, xc, x):
        times, order, before, at = _known(xc, x)
        start = np.clip(before - 1, 0, len(times) - 1)
        through = np.where(start == 0, 1, np.maximum(start - self.steps, 0))
        return _extrapolation(times, order[start], order[through], at, x.dtype)


class GreatCircle(AbstractBaseline):
    """Constant speed along the great circle between the neighbouring known points."""

    @classmethod
    def fit(cls, x, y):
        return cls()

    def forecast(self, xc, x):
        times, order, before, at = _known(xc, x)
        right = np.clip(before, 1, len(times) - 1)
        # Beyond the known points: the velocity of the last two, as in `Persistence`.
        return _extrapolation(times, order[right - 1], order[right], at, x.dtype)


class Hermite(AbstractBaseline):
    """Cubic curve with the known positions and velocities at both ends of a gap.

    Velocities are those of the `steps` steps next to the gap.
    """

    steps: int = eqx.field(default=1, static=True)

    @classmethod
    def fit(cls, x, y, *, steps: int = 1):
        return cls(steps)

    def forecast(self, xc, x):
        times, order, before, at = _known(xc, x)
        if np.any((before < 1) | (before > len(times) - 1)):
            raise ValueError("expected every target between known points, got some beyond them")
        left, right = order[before - 1], order[before]
        # The outer neighbours give the velocities; at the ends of the track the gap itself does.
        outer_left = np.where(before > 1, order[np.maximum(before - 1 - self.steps, 0)], right)
        last = len(times) - 1
        outer_right = np.where(before < last, order[np.minimum(before + self.steps, last)], left)
        gap = times[right] - times[left]
        return Bezier(
            _extrapolation(times, left, outer_left, times[left] + gap / 3, x.dtype),
            jnp.asarray(left),
            jnp.asarray(right),
            _extrapolation(times, right, outer_right, times[right] - gap / 3, x.dtype),
            jnp.asarray(((at - times[left]) / gap)[:, None], dtype=x.dtype),
        )
