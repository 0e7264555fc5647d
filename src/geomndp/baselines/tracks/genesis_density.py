"""Where tracks begin: a mixture of von Mises-Fisher laws around the first points of tracks."""

from __future__ import annotations

import functools

import equinox as eqx
import jax
import jax.random as jr
import numpy as np

from geomndp._types import Array, Float, PRNGKeyArray, Scalar, ScalarLike
from geomndp.baselines.tracks.host_call import call_on_host
from geomndp.geometry.von_mises_fisher import (
    best_concentration,
    log_density,
    sample_around,
)


def _best_concentration(points: np.ndarray) -> float:
    return _leave_one_out(points.tobytes(), points.dtype.str)


@functools.lru_cache(maxsize=8)  # a compiled evaluation asks again with every batch
def _leave_one_out(content: bytes, dtype: str) -> float:
    return best_concentration(np.frombuffer(content, dtype).reshape(-1, 3))


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
        terms = log_density(self.centres @ y, concentration)
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
        centre = self.centres[jr.randint(centre_key, (num_samples,), 0, len(self.centres))]
        keys = {"angle_key": angle_key, "turn_key": turn_key}
        return sample_around(centre, self.concentration, **keys)
