"""Gaussian processes in the plane of a map projection: two of the paper's rows.

The coordinates are normalised, independent, and each has a squared-exponential kernel with noise,
whose three parameters maximise the marginal likelihood of the training tracks.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from scipy.optimize import minimize

from geomndp._types import Array, Float
from geomndp.baselines.tracks.base import AbstractBaseline
from geomndp.baselines.tracks.context import TrackContext, UnitVectors, ordered_times, shared_times
from geomndp.baselines.tracks.map_projections import AbstractChart, LatLon
from geomndp.gp import GP, ConditionedGP
from geomndp.kernels import SquaredExponential
from geomndp.linalg import zero_masked

SMALLEST_NOISE = 1e-6
"""Smallest noise variance as a share of the kernel's: the rounding of a smooth Gram matrix."""
LENGTHSCALES = np.geomspace(0.1, 100, 16)
NOISES = np.geomspace(SMALLEST_NOISE, 1e-2, 9)


def fit_gp(times: np.ndarray, u: np.ndarray) -> GP:
    r"""Squared-exponential process for values (tracks, times) of one coordinate.

    All tracks share their times, so that their likelihood needs one factorisation and their second
    moments M only. With $K = v C$ the best variance is $v = \mathrm{tr}(C^{-1} M) / n$; the other
    two parameters are searched on a grid, then by a simplex.

    Args:
        times: Times in days, shape (n,).
        u: Values, shape (tracks, n).

    Returns:
        The process of greatest marginal likelihood.
    """
    moments, squared_distances = u.T @ u / len(u), (times[:, None] - times[None, :]) ** 2

    def variance_and_cost(parameters):
        lengthscale, noise = np.exp(parameters)
        gram = np.exp(-0.5 * squared_distances / lengthscale**2) + noise * np.eye(len(times))
        factor = np.linalg.cholesky(gram)
        half = np.linalg.solve(factor, moments)
        variance = np.trace(np.linalg.solve(factor.T, half)) / len(times)
        return variance, 2 * np.log(np.diag(factor)).sum() + len(times) * np.log(variance)

    def cost(parameters):
        return variance_and_cost(parameters)[1]

    grid = [np.log([lengthscale, noise]) for lengthscale in LENGTHSCALES for noise in NOISES]
    limits = [tuple(np.log([values[0], values[-1]])) for values in (LENGTHSCALES, NOISES)]
    optimum = minimize(cost, min(grid, key=cost), method="Nelder-Mead", bounds=limits)
    variance = float(variance_and_cost(optimum.x)[0])
    lengthscale, noise = np.exp(optimum.x).tolist()
    return GP(SquaredExponential(lengthscale, variance), noise=noise * variance)


class ChartGP(AbstractBaseline):
    """Two independent processes in a chart, mapped to the sphere.

    Attributes:
        chart: The map projection.
        centre: What is subtracted from the coordinates.
        spread: What they are then divided by.
        gps: A process for each coordinate.
        density_noise: Variance of each tangent coordinate by which densities are blurred, not
            samples: B(t_min) compares with a diffusion model.
    """

    chart: AbstractChart
    centre: Float[Array, " 2"]
    spread: Float[Array, " 2"]
    gps: tuple[GP, GP]
    density_noise: float = 0.0

    @classmethod
    def fit(cls, x, y, *, chart: AbstractChart | None = None):
        """Fit processes by marginal likelihood.

        Args:
            x: Times in days, shape (b, n, 1), the same for all tracks.
            y: Unit vectors, shape (b, n, 3).
            chart: The map projection, by default latitude and longitude.

        Returns:
            The fitted baseline.

        Raises:
            ValueError: If the tracks do not share their times.
        """
        chart = LatLon() if chart is None else chart
        u = np.asarray(jax.jit(jax.vmap(chart.to_plane))(y), dtype=float)
        centre, spread, times = u.mean(axis=(0, 1)), u.std(axis=(0, 1)), shared_times(x)
        first, second = (fit_gp(times, (u[..., i] - centre[i]) / spread[i]) for i in (0, 1))
        centre, spread = (jnp.asarray(value, dtype=y.dtype) for value in (centre, spread))
        return cls(chart, centre, spread, (first, second))

    def _coordinates(self, y: UnitVectors, times: Float[Array, " n"]) -> Float[Array, "n 2"]:
        """Normalised coordinates; the chart sees the track in the order of time."""
        order = jnp.argsort(times)
        u = self.chart.to_plane(y[order])[jnp.argsort(order)]
        return (u - self.centre[None]) / self.spread[None]

    def _posteriors(self, context: TrackContext, u: Float[Array, "c 2"]) -> list[ConditionedGP]:
        return [
            gp.condition(context.x, u[:, i : i + 1], mask=context.mask)
            for i, gp in enumerate(self.gps)
        ]

    def _points(self, u: Float[Array, "k 2"]) -> UnitVectors:
        return self.chart.from_plane(self.centre[None] + self.spread[None] * u)

    def predict_mean(self, context, x, mask):
        """Posterior means, mapped to the sphere."""
        posteriors = self._posteriors(context, self._coordinates(context.y, context.times()))
        return self._points(jnp.concatenate([law.mean_at(x) for law in posteriors], axis=1))

    def predict_samples(self, context, x, *, key, num_samples):
        """Posterior samples, mapped to the sphere."""
        posteriors = self._posteriors(context, self._coordinates(context.y, context.times()))
        draws = [
            law.sample(x, key=key, num_samples=num_samples)
            for law, key in zip(posteriors, jr.split(key), strict=True)
        ]
        return jax.vmap(self._points)(jnp.concatenate(draws, axis=2))

    def predict_log_prob(self, context, x, y, mask):
        """Noise is that of a small step on the sphere at y, mapped to the plane."""
        times = jnp.concatenate([context.times(), ordered_times(x, mask)])
        u = self._coordinates(jnp.concatenate([context.y, y]), times)
        context_u, u = u[: len(context.y)], u[len(context.y) :]
        stretch = self.chart.stretch(self.centre[None] + self.spread[None] * u) / self.spread[None]
        total = jnp.sum(zero_masked(jnp.log(stretch), mask))
        for i, law in enumerate(self._posteriors(context, context_u)):
            gram = law.gram(x).add_diagonal(self.density_noise * stretch[:, i] ** 2).masked(mask)
            total = total + gram.log_density(u[:, i : i + 1] - law.mean_at(x), mask)
        return total
