"""Gaussian processes in the plane of a chart: two of the paper's rows.

The coordinates are normalised, independent, and each has a squared-exponential kernel with noise,
whose three parameters maximise the marginal likelihood of the training tracks.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from scipy.optimize import minimize

from geomndp._types import Array, Float
from geomndp.baselines.tracks.base import (
    AbstractBaseline,
    AbstractForecast,
    KnownTimes,
    Points,
    Times,
    days,
    shared_times,
)
from geomndp.baselines.tracks.map_projections import AbstractChart, LatLon
from geomndp.gp import GP
from geomndp.kernels import SquaredExponential

SMALLEST_NOISE = 1e-6
"""Smallest noise variance as a share of the kernel's: the rounding of a smooth Gram matrix."""
LENGTHSCALES = np.geomspace(0.1, 100, 16)
NOISES = np.geomspace(SMALLEST_NOISE, 1e-2, 9)


def fit_gp(times: np.ndarray, u: np.ndarray) -> GP:
    r"""Squared-exponential process for values (tracks, times) of one coordinate.

    All tracks share their times, so that their likelihood needs one factorisation and their second
    moments M only. With $K = v C$ the best variance is $v = \mathrm{tr}(C^{-1} M) / n$; the other
    two parameters are searched on a grid, then by a simplex.
    """
    moments, gaps = u.T @ u / len(u), (times[:, None] - times[None, :]) ** 2

    def variance_and_cost(parameters):
        lengthscale, noise = np.exp(parameters)
        gram = np.exp(-0.5 * gaps / lengthscale**2) + noise * np.eye(len(times))
        factor = np.linalg.cholesky(gram)
        half = np.linalg.solve(factor, moments)
        variance = np.trace(np.linalg.solve(factor.T, half)) / len(times)
        return variance, 2 * np.log(np.diag(factor)).sum() + len(times) * np.log(variance)

    def cost(parameters):
        return variance_and_cost(parameters)[1]

    grid = [np.log([lengthscale, noise]) for lengthscale in LENGTHSCALES for noise in NOISES]
    limits = [tuple(np.log([values[0], values[-1]])) for values in (LENGTHSCALES, NOISES)]
    found = minimize(cost, min(grid, key=cost), method="Nelder-Mead", bounds=limits)
    variance = float(variance_and_cost(found.x)[0])
    lengthscale, noise = np.exp(found.x).tolist()
    return GP(SquaredExponential(lengthscale, variance), noise=noise * variance)


class ChartForecast(AbstractForecast):
    """Posterior processes of both coordinates, mapped to the sphere."""

    chart: AbstractChart
    centre: Float[Array, " 2"]
    spread: Float[Array, " 2"]
    gps: tuple[GP, GP]
    xc: KnownTimes
    x: Times
    order: tuple[int, ...] = eqx.field(static=True)
    """Rows of known points, then of targets, in the order of time."""

    def _coordinates(self, y: Points, order) -> Float[Array, "n 2"]:
        """Normalised coordinates; the chart sees the track in the order of time."""
        order = np.asarray(order, dtype=int)
        u = self.chart.to_plane(y[order])[np.argsort(order)]
        return (u - self.centre[None]) / self.spread[None]

    def _posteriors(self, u):
        return [gp.condition(self.xc, u[:, i : i + 1]) for i, gp in enumerate(self.gps)]

    def _from_context(self, yc):
        return self._posteriors(self._coordinates(yc, [i for i in self.order if i < len(self.xc)]))

    def _points(self, u: Float[Array, "k 2"]) -> Points:
        return self.chart.from_plane(self.centre[None] + self.spread[None] * u)

    def mean(self, yc):
        means = [posterior.mean_at(self.x) for posterior in self._from_context(yc)]
        return self._points(jnp.concatenate(means, axis=1))

    def sample(self, yc, *, key, num_samples):
        draws = [
            posterior.sample(self.x, key=key, num_samples=num_samples)
            for posterior, key in zip(self._from_context(yc), jr.split(key), strict=True)
        ]
        return jax.vmap(self._points)(jnp.concatenate(draws, axis=2))

    def log_prob(self, yc, y, noise=0.0):
        """Noise is that of a small step on the sphere at y, mapped to the plane."""
        u = self._coordinates(jnp.concatenate([yc, y]), self.order)
        known, u = u[: len(yc)], u[len(yc) :]
        stretch = self.chart.stretch(self.centre[None] + self.spread[None] * u) / self.spread[None]
        total = jnp.sum(jnp.log(stretch))
        for i, posterior in enumerate(self._posteriors(known)):
            gram = posterior.gram(self.x).add_diagonal(noise * stretch[:, i] ** 2)
            total = total + gram.log_density(u[:, i : i + 1] - posterior.mean_at(self.x))
        return total


class ChartGP(AbstractBaseline):
    """Two independent processes in a chart."""

    chart: AbstractChart
    centre: Float[Array, " 2"]
    spread: Float[Array, " 2"]
    gps: tuple[GP, GP]

    @classmethod
    def fit(cls, x, y, *, chart: AbstractChart | None = None):
        """Fit processes in latitude and longitude, or in another chart."""
        chart = LatLon() if chart is None else chart
        u = np.asarray(jax.jit(jax.vmap(chart.to_plane))(y), dtype=float)
        centre, spread, times = u.mean(axis=(0, 1)), u.std(axis=(0, 1)), shared_times(x)
        first, second = (fit_gp(times, (u[..., i] - centre[i]) / spread[i]) for i in (0, 1))
        centre, spread = (jnp.asarray(value, dtype=y.dtype) for value in (centre, spread))
        return cls(chart, centre, spread, (first, second))

    def forecast(self, xc, x):
        order = np.argsort(np.concatenate([days(xc), days(x)]), kind="stable")
        places = tuple(order.tolist())
        return ChartForecast(self.chart, self.centre, self.spread, self.gps, xc, x, places)
