"""Residuals of a regression: Gaussian, or Gaussian with sizes that differ from storm to storm."""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from scipy.special import logsumexp

from geomndp._types import Array, Float, Int, PRNGKeyArray, Scalar, ScalarLike
from geomndp.geometry.geodesy import EARTH_RADIUS_KM

FLOOR = (1 / EARTH_RADIUS_KM) ** 2
"""Residuals below 1 km mean nothing: positions are given to a tenth of a degree."""
ROUGH = (30 / EARTH_RADIUS_KM) ** 2
"""Directions below 30 km are the roughness of a track, those above its course."""
SCALES = 2.0 ** np.arange(-6, 7)
"""Multiples of the variances that the sizes of a storm's residuals are chosen from."""
ROUNDS = 40
NO_BAND = -1
"""Band of directions that are padding: they have no density."""


class ScaleMixture(eqx.Module):
    r"""$r = U \sqrt{\tau_b \lambda} z$: every band b of directions has a random scale $\tau_b$.

    One band and one scale are a Gaussian; several scales are a discrete Student law (Andrews and
    Mallows 1974). Noise only adds to the variances, so that the density is exact at any noise.

    Attributes:
        basis: Directions U, orthonormal columns, shape (d, d).
        variances: Variances along them at scale one, shape (d,).
        band: The band of each direction, -1 for padding, shape (d,).
        scales: Possible scales, shape (m,).
        log_weights: Logarithms of their probabilities per band, shape (bands, m).
    """

    basis: Float[Array, "d d"]
    variances: Float[Array, " d"]
    band: Int[Array, " d"]
    scales: Float[Array, " m"]
    log_weights: Float[Array, "bands m"]

    def sample(self, *, key: PRNGKeyArray, num_samples: int) -> Float[Array, "s d"]:
        """Draw residuals.

        Args:
            key: Random key.
            num_samples: Number s of draws.

        Returns:
            Residuals, shape (s, d).
        """
        scale_key, noise_key = jr.split(key)
        shape = (num_samples, len(self.log_weights))
        scales = self.scales[jr.categorical(scale_key, self.log_weights[None], shape=shape)]
        z = jr.normal(noise_key, (num_samples, len(self.variances)), self.variances.dtype)
        return (jnp.sqrt(scales[:, self.band] * self.variances[None]) * z) @ self.basis.T

    def log_density(self, r: Float[Array, " d"], noise: ScalarLike = 0.0) -> Scalar:
        """Log-density of a residual.

        Args:
            r: The residual, shape (d,).
            noise: Variance of independent noise that was added to every coordinate.

        Returns:
            Nats.
        """
        spread = self.scales[:, None] * self.variances[None] + noise
        terms = -0.5 * (((r @ self.basis) ** 2)[None] / spread + jnp.log(2 * jnp.pi * spread))
        member = jax.nn.one_hot(self.band, len(self.log_weights), dtype=terms.dtype)
        odds = self.log_weights + (terms @ member).T
        return jnp.sum(jax.scipy.special.logsumexp(odds, axis=1))


class HostResiduals(NamedTuple):
    """The arrays of a `ScaleMixture` on the host, double precision."""

    basis: np.ndarray
    variances: np.ndarray
    band: np.ndarray
    log_weights: np.ndarray


def scales_of(heavy_tailed: bool) -> np.ndarray:
    """Scales that a storm's residuals are chosen from."""
    return SCALES if heavy_tailed else np.ones(1)


def fit_residuals(r: np.ndarray, parameters: int, *, heavy_tailed: bool) -> HostResiduals:
    """Fit the law of residuals.

    Args:
        r: Residuals of a regression, shape (storms, d).
        parameters: Number of the regression's parameters.
        heavy_tailed: Whether every storm has scales of its own: two bands, of which one may be
            empty, else one.

    Returns:
        Arrays of the law.
    """
    variances, basis = np.linalg.eigh(r.T @ r / (len(r) - parameters))
    variances = np.maximum(variances, FLOOR)
    if not heavy_tailed:
        return HostResiduals(basis, variances, np.zeros(len(variances), int), np.zeros((1, 1)))
    band = np.unique(variances > ROUGH, return_inverse=True)[1]
    square, inflation = (r @ basis) ** 2, len(r) / (len(r) - parameters)
    log_weights = np.full((2, len(SCALES)), -np.log(len(SCALES)))
    for b in np.unique(band):
        fitted = _expectation_maximisation(inflation * square[:, band == b])
        variances[band == b], log_weights[b] = fitted
    return HostResiduals(basis, variances, band, log_weights)


def pad_residuals(law: HostResiduals, real: np.ndarray) -> HostResiduals:
    """Take the density off the coordinates that are not `real`; those that are keep their law."""
    size, count = len(real), int(real.sum())
    basis, variances = np.zeros((size, size)), np.ones(size)
    basis[np.ix_(real, np.arange(size) < count)] = law.basis
    basis[np.ix_(~real, np.arange(size) >= count)] = np.eye(size - count)
    variances[:count] = law.variances
    band = np.full(size, NO_BAND)
    band[:count] = law.band
    return HostResiduals(basis, variances, band, law.log_weights)


def _expectation_maximisation(square: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Variances and log-weights of scales for squared residuals (storms, k) of one band."""
    variances = np.maximum(square.mean(axis=0), FLOOR)
    weights = np.full(len(SCALES), 1 / len(SCALES))
    for _ in range(ROUNDS):
        size = np.sum(square / variances, axis=1)
        odds = np.log(weights) - 0.5 * (square.shape[1] * np.log(SCALES) + size[:, None] / SCALES)
        share = np.exp(odds - logsumexp(odds, axis=1, keepdims=True))
        # A weight that has vanished may come back.
        weights = np.maximum(share.mean(axis=0), 1e-10)
        precision = np.sum(share / SCALES, axis=1)
        variances = np.maximum(np.mean(precision[:, None] * square, axis=0), FLOOR)
    return variances, np.log(weights / weights.sum())
