r"""Linear regression of tracks in a local frame, after CLIPER (Neumann 1972).

All points of a track become coordinates to the east and to the north of one known point, the
anchor: $c = (e, n) \log_{anchor} y$. Targets are linear in the known coordinates, in the sine of
the anchor's latitude and its square, and in the products of both; what is left is Gaussian, or
Gaussian with scales of its own for every storm.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp._types import Array, Float
from geomndp.baselines.tracks.base import (
    SPHERE,
    AbstractBaseline,
    AbstractForecast,
    Known,
    Points,
    days,
    shared_times,
)
from geomndp.baselines.tracks.genesis_density import GenesisDensity
from geomndp.baselines.tracks.residuals import ScaleMixture, fit_residuals
from geomndp.geometry.geodesy import east_and_north

RIDGE = 1e-6


def to_local(anchor: Float[Array, " 3"], y: Points) -> Float[Array, "n 2"]:
    """Coordinates to the east and to the north of the anchor, in radians."""
    v = SPHERE.log(jnp.broadcast_to(anchor, y.shape), y)
    return v @ east_and_north(anchor).T


def from_local(anchor: Float[Array, " 3"], c: Float[Array, "n 2"]) -> Points:
    """Points with these coordinates."""
    v = c @ east_and_north(anchor)
    return SPHERE.exp(jnp.broadcast_to(anchor, v.shape), v)


def log_area(c: Float[Array, "n 2"]) -> Float[Array, " n"]:
    r"""$\log \sin r / r$: area on the sphere for that in the plane, at distance r."""
    return jnp.log(jnp.sinc(jnp.sqrt(jnp.sum(c**2, axis=1)) / jnp.pi))


def features(anchor: Float[Array, " 3"], yc: Points) -> Float[Array, " f"]:
    """Predictors of one track, from its anchor and the other known points."""
    known, lat = to_local(anchor, yc).reshape(-1), anchor[2]
    one = jnp.ones_like(lat)
    return jnp.concatenate([jnp.stack([one, lat, lat**2]), known, lat * known])


class LinearForecast(AbstractForecast):
    """Targets around a linear function of the features."""

    anchor: int = eqx.field(static=True)
    coefficients: Float[Array, "f d"]
    residuals: ScaleMixture

    def _split(self, yc: Known):
        others = [i for i in range(len(yc)) if i != self.anchor]
        return yc[self.anchor], yc[jnp.asarray(others, dtype=int)]

    def _centre(self, yc: Known):
        anchor, others = self._split(yc)
        return anchor, features(anchor, others) @ self.coefficients

    def mean(self, yc):
        anchor, centre = self._centre(yc)
        return from_local(anchor, centre.reshape(-1, 2))

    def sample(self, yc, *, key, num_samples):
        anchor, centre = self._centre(yc)
        c = centre[None] + self.residuals.sample(key=key, num_samples=num_samples)
        return jax.vmap(lambda c: from_local(anchor, c.reshape(-1, 2)))(c)

    def log_prob(self, yc, y, noise=0.0):
        anchor, centre = self._centre(yc)
        c = to_local(anchor, y)
        density = self.residuals.log_density(c.reshape(-1) - centre, noise)
        return density - jnp.sum(log_area(c))


class JointForecast(AbstractForecast):
    """Tracks of which nothing is known: where they begin, then the rest from there."""

    genesis: GenesisDensity
    rest: LinearForecast
    first: int = eqx.field(static=True)

    def _join(self, start, rest):
        return jnp.insert(rest, self.first, start, axis=0)

    def mean(self, yc):
        start = SPHERE.retract(jnp.mean(self.genesis.centres, axis=0))
        return self._join(start, self.rest.mean(start[None]))

    def sample(self, yc, *, key, num_samples):
        start_key, rest_key = jr.split(key)
        starts = self.genesis.sample(key=start_key, num_samples=num_samples)

        def one(start, key):
            return self._join(start, self.rest.sample(start[None], key=key, num_samples=1)[0])

        return jax.vmap(one)(starts, jr.split(rest_key, num_samples))

    def log_prob(self, yc, y, noise=0.0):
        start, rest = y[self.first], jnp.delete(y, self.first, axis=0)
        return self.genesis.log_prob(start, noise) + self.rest.log_prob(start[None], rest, noise)


class LinearGaussian(AbstractBaseline):
    """Regression for any choice of known points and targets among the times of the tracks."""

    times: tuple[float, ...] = eqx.field(static=True)
    tracks: Float[Array, "b n 3"]
    heavy_tailed: bool = eqx.field(static=True)

    @classmethod
    def fit(cls, x, y, *, heavy_tailed: bool = False):
        """Keep the tracks: the regression is solved when known points and targets are chosen."""
        return cls(tuple(shared_times(x).tolist()), y, heavy_tailed)

    def forecast(self, xc, x):
        known, targets = self._places(days(xc)), self._places(days(x))
        if len(known):
            return self._regression(known, targets)
        first = int(np.argmin(targets))
        rest = self._regression(targets[[first]], np.delete(targets, first))
        return JointForecast(GenesisDensity.fit(self.tracks[:, targets[first]]), rest, first)

    def _places(self, times) -> np.ndarray:
        gaps = np.abs(times[:, None] - np.asarray(self.times)[None, :])
        nearest = gaps.argmin(axis=1)
        if len(times) and gaps.min(axis=1).max() > 1e-4:
            raise ValueError("expected times of the tracks that were fitted, got others")
        return nearest

    def _regression(self, known: np.ndarray, targets: np.ndarray) -> LinearForecast:
        # The last known point before the targets: there the frame fits best.
        before = np.flatnonzero(known < targets.min(initial=len(self.times)))
        anchor = int(before[known[before].argmax()] if len(before) else known.argmin())
        start, others = self.tracks[:, known[anchor]], np.delete(known, anchor)
        predictors, local = _design(start, self.tracks[:, others], self.tracks[:, targets])
        return fit_linear(
            anchor,
            np.asarray(predictors, dtype=float),
            np.asarray(local, dtype=float).reshape(len(local), -1),
            heavy_tailed=self.heavy_tailed,
            dtype=self.tracks.dtype,
        )


@jax.jit
def _design(start, others, targets):
    """Predictors and local coordinates of the targets, of all tracks."""
    return jax.vmap(features)(start, others), jax.vmap(to_local)(start, targets)


def fit_linear(
    anchor: int, predictors: np.ndarray, targets: np.ndarray, *, heavy_tailed: bool, dtype
) -> LinearForecast:
    """Ridge regression, with predictors in units of their spread, and the law of what is left."""
    count, size = predictors.shape
    if count <= 2 * size:
        raise ValueError(f"expected more than {2 * size} tracks to fit {size} terms, got {count}")
    spread = predictors.std(axis=0)
    spread[spread == 0] = 1.0
    scaled = predictors / spread
    gram = scaled.T @ scaled + RIDGE * count * np.eye(size)
    coefficients = np.linalg.solve(gram, scaled.T @ targets)
    residuals = fit_residuals(
        targets - scaled @ coefficients, size, heavy_tailed=heavy_tailed, dtype=dtype
    )
    return LinearForecast(
        anchor, jnp.asarray(coefficients / spread[:, None], dtype=dtype), residuals
    )
