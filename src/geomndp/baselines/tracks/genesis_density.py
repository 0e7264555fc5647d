"""Where tracks begin: a mixture of von Mises-Fisher laws around the first points of tracks."""

from __future__ import annotations

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp._types import Array, Float, PRNGKeyArray, Scalar, ScalarLike
from geomndp.baselines.tracks.context import SPHERE
from geomndp.baselines.tracks.host_call import call_on_host
from geomndp.geometry.geodesy import east_and_north

CONCENTRATIONS = 10.0 ** np.linspace(1, 5, 17)
NUM_LEAVE_ONE_OUT = 1000
"""At most so many points choose the concentration."""


def _log_kernel(cosine, concentration):
    r"""$\log \frac{\kappa}{2 \pi (1 - e^{-2 \kappa})} + \kappa (\cos \theta - 1)$."""
    xp = jnp if isinstance(cosine, jax.Array) else np
    scale = xp.log(concentration) - np.log(2 * np.pi) - xp.log1p(-xp.exp(-2 * concentration))
    return scale + concentration * (cosine - 1)


def _best_concentration(points: np.ndarray) -> float:
    return _leave_one_out(points.tobytes(), points.dtype.str)


@functools.lru_cache(maxsize=8)  # a compiled evaluation asks again with every batch
def _leave_one_out(content: bytes, dtype: str) -> float:
    centres = np.frombuffer(content, dtype).reshape(-1, 3).astype(float)
    kept = np.unique(np.linspace(0, len(centres) - 1, NUM_LEAVE_ONE_OUT).round().astype(int))
    cosine = np.clip(centres[kept] @ centres.T, -1, 1)
    cosine[np.arange(len(kept)), kept] = -np.inf
    quality = [np.logaddexp.reduce(_log_kernel(cosine, k), axis=1).sum() for k in CONCENTRATIONS]
    return float(CONCENTRATIONS[int(np.argmax(quality))])


class GenesisDensity(eqx.Module):
    """Kernel density of the first points of tracks.

    Attributes:
        centres: First points, unit vectors of shape (m, 3).
        concentration: That of the von Mises-Fisher kernels.
    """

    centres: Float[Array, "m 3"]
    concentration: Float[Array, ""]

    @classmethod
    def fit(cls, y: Float[Array, "m 3"]) -> GenesisDensity:
        """Choose the concentration by the likelihood of points that are left out in turn.

        Args:
            y: First points, unit vectors of shape (m, 3).

        Returns:
            The fitted density.
        """
        shape = jax.ShapeDtypeStruct((), y.dtype)
        return cls(y, call_on_host(_best_concentration, shape, y))

    def log_prob(self, y: Float[Array, " 3"], noise: ScalarLike = 0.0) -> Scalar:
        """Log-density with respect to area.

        Args:
            y: A unit vector, shape (3,).
            noise: Variance of tangent noise, which widens every kernel.

        Returns:
            Nats.
        """
        concentration = 1 / (1 / self.concentration + noise)
        terms = _log_kernel(self.centres @ y, concentration)
        return jax.scipy.special.logsumexp(terms) - np.log(len(self.centres))

    def sample(self, *, key: PRNGKeyArray, num_samples: int) -> Float[Array, "s 3"]:
        """Draw first points: the law of the angle has a closed inverse on S^2 (Ulrich 1984).

        Args:
            key: Random key.
            num_samples: Number s of points.

        Returns:
            Unit vectors, shape (s, 3).
        """
        centre_key, angle_key, turn_key = jr.split(key, 3)
        dtype = self.centres.dtype
        centre = self.centres[jr.randint(centre_key, (num_samples,), 0, len(self.centres))]
        u = jr.uniform(angle_key, (num_samples,), dtype)
        fall = -jnp.log(u + (1 - u) * jnp.exp(-2 * self.concentration)) / self.concentration
        angle = 2 * jnp.arcsin(jnp.sqrt(jnp.clip(fall / 2, 0, 1)))
        turn = 2 * jnp.pi * jr.uniform(turn_key, (num_samples,), dtype)
        v = angle[:, None] * jnp.stack([jnp.cos(turn), jnp.sin(turn)], axis=-1)
        return SPHERE.exp(centre, jnp.einsum("sk,ska->sa", v, east_and_north(centre)))
