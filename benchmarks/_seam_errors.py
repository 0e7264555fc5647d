"""Errors of samples of a stationary field on a grid against its exact law, at and off seams."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import numpy as np

LAGS = (1, 2, 4, 8)
WAVELENGTHS = ((4, 8), (8, 16), (16, 32), (32, 64))


class ExactField(NamedTuple):
    """A stationary Gaussian field of zero mean.

    Attributes:
        kernel: Covariance of its values, shape (p, p) at two points.
        noise: Variance of independent noise.
        spacing: Distance of neighbours of the grid.
    """

    kernel: Any
    noise: float
    spacing: float

    def covariance(self, lags: np.ndarray) -> np.ndarray:
        """Covariance (..., p) of every output with itself at lags (..., 2) of the grid."""
        with jax.enable_x64(True):
            rows = jax.numpy.asarray(self.spacing * np.reshape(lags, (-1, 2)))
            blocks = jax.vmap(lambda lag: self.kernel(jax.numpy.zeros(2), lag))(rows)
            values = np.diagonal(np.asarray(blocks), axis1=1, axis2=2)
        here = np.all(np.reshape(lags, (-1, 2)) == 0, axis=1)
        return (values + self.noise * here[:, None]).reshape(*np.shape(lags)[:-1], -1)


class Errors(NamedTuple):
    """Errors of estimates, over the standard deviation or the variance of the exact law.

    Attributes:
        values: Estimate less exact value.
        error: Standard error of the estimates, were the law exact.
    """

    values: np.ndarray
    error: float | np.ndarray

    def summary(self) -> dict[str, float]:
        """Root mean squares.

        Returns:
            Of the z-scores; of the errors; and of what is left of these without the noise of the
            samples.
        """
        noise = np.broadcast_to(np.square(self.error), self.values.shape)
        squares = np.square(self.values)
        left = max(0.0, float(np.mean(squares - noise)))
        numbers = {"z": np.mean(squares / noise), "error": np.mean(squares), "systematic": left}
        return {name: round(float(np.sqrt(value)), 4) for name, value in numbers.items()}


def point_errors(y: np.ndarray, exact: ExactField) -> dict[str, Errors]:
    """Errors (n, m, p) of means and variances of samples (s, n, m, p)."""
    own = exact.covariance(np.zeros(2))
    means = y.mean(axis=0) / np.sqrt(own)
    variances = np.mean(y**2, axis=0) / own - 1
    return {
        "means": Errors(means, 1 / np.sqrt(len(y))),
        "variances": Errors(variances, np.sqrt(2 / len(y))),
    }


def pair_errors(y: np.ndarray, exact: ExactField, chunks: tuple[int, int]) -> dict[str, Errors]:
    """Errors of covariances of pairs of points, by lag, across seams and within patches.

    Args:
        y: Samples (s, n, m, p).
        exact: Their exact law.
        chunks: Points of a patch along both axes.

    Returns:
        Errors of all pairs along either axis, by "across, lag 1", "within, lag 1", ...
    """
    own, found = exact.covariance(np.zeros(2)), {}
    for lag in LAGS:
        parts: dict[str, list] = {"across": [], "within": []}
        for axis in (0, 1):
            along = np.moveaxis(y, 1 + axis, 1)
            correlation = exact.covariance(lag * np.eye(2)[axis]) / own
            products = np.mean(along[:, :-lag] * along[:, lag:], axis=0) / own
            patch = np.arange(along.shape[1]) // chunks[axis]
            same = patch[:-lag] == patch[lag:]
            error = np.sqrt((1 + correlation**2) / len(y))
            for name, rows in (("across", ~same), ("within", same)):
                values = (products - correlation)[rows]
                parts[name].append((values.ravel(), np.broadcast_to(error, values.shape).ravel()))
        for name, groups in parts.items():
            values, error = (np.concatenate(part) for part in zip(*groups, strict=True))
            if len(values):
                found[f"{name}, lag {lag}"] = Errors(values, error)
    return found


def expected_periodogram(n: int, exact: ExactField) -> np.ndarray:
    """Expectation (n, n) of squared Fourier coefficients of the first output on n x n points."""
    steps = np.arange(-(n - 1), n)
    covariance = exact.covariance(np.stack(np.meshgrid(steps, steps, indexing="ij"), -1))[..., 0]
    overlap = n - np.abs(steps)
    folded = np.zeros((n, n))
    np.add.at(folded, np.ix_(steps % n, steps % n), covariance * np.outer(overlap, overlap))
    return np.fft.fft2(folded).real


def bands(n: int, spacing: float) -> dict[str, np.ndarray]:
    """Which Fourier coefficients (n, n) have wavelengths of each range, in units of the inputs."""
    frequency = np.hypot(*np.meshgrid(*[np.fft.fftfreq(n, spacing)] * 2))
    found = {
        f"{low} to {high}": (frequency > 1 / high) & (frequency <= 1 / low)
        for low, high in WAVELENGTHS
    }
    return {name: inside for name, inside in found.items() if inside.any()}


def spectrum_ratio(y: np.ndarray, exact: ExactField) -> dict[str, float]:
    """Mean periodogram of the first output of samples (s, n, n, p) over its exact expectation.

    Returns:
        Ratio by wavelength, in units of the inputs.
    """
    return {name: ratio for name, (ratio, _) in spectrum_errors(y, exact).items()}


def spectrum_errors(y: np.ndarray, exact: ExactField) -> dict[str, tuple[float, float]]:
    """The same, each with the standard error that it would have, were the law exact.

    Coefficients of k and -k are the same, those of different k about independent.
    """
    n, found = y.shape[1], {}
    expected = expected_periodogram(n, exact)
    mean = np.mean(np.abs(np.fft.fft2(y[..., 0], axes=(1, 2))) ** 2, axis=0)
    for name, inside in bands(n, exact.spacing).items():
        total, squares = expected[inside].sum(), np.sum(expected[inside] ** 2)
        error = np.sqrt(2 * squares / len(y)) / total
        found[name] = round(float(mean[inside].sum() / total), 3), round(float(error), 3)
    return found


def spectrum_nats(found: dict[str, tuple[float, float]], n: int, spacing: float) -> float:
    r"""What a stationary law with these ratios r costs, $\frac12 (r - 1 - \log r)$ per coefficient.

    Args:
        found: Result of `spectrum_errors` of n x n points; other wavelengths count as exact.
        n: Points along a side.
        spacing: Distance of neighbours.

    Returns:
        Nats per point, KL(law || exact law), where the field has one degree of freedom per
        coefficient, as a divergence-free one has, and little noise.
    """
    counts = {name: inside.sum() for name, inside in bands(n, spacing).items()}
    parts = [0.5 * (r - 1 - np.log(r)) * counts[name] for name, (r, _) in found.items()]
    return float(np.sum(parts) / n**2)
