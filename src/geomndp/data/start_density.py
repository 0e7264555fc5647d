"""Where tracks begin: the law of the first point of a track that has no context."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _model_files, _validation
from geomndp._types import Array, Float, PRNGKeyArray, Scalar
from geomndp.geometry.von_mises_fisher import (
    best_concentration,
    log_axial_density,
    log_density,
    sample_around,
)

MAX_CENTRES = 256
"""First points around which the kernels of a fitted density stand."""


@_model_files.tagged("density/start")
class StartDensity(eqx.Module):
    """Kernel density of first points: von Mises-Fisher laws around those of known tracks.

    Args:
        centres: First points, unit vectors of shape (m, 3).
        concentration: That of the kernels.
        axial: Whether all longitudes are alike: every kernel is turned about the Earth's axis.
    """

    centres: Float[Array | np.ndarray, "m k"]
    concentration: float = eqx.field(static=True)
    axial: bool = eqx.field(default=False, static=True)

    def __check_init__(self) -> None:
        _validation.positive(concentration=self.concentration)
        shape = np.shape(self.centres)
        if len(shape) != 2 or shape[1] != 3 or not shape[0]:
            raise ValueError(f"expected centres of shape (m, 3), got shape {shape}")

    @classmethod
    def fit(cls, y: np.ndarray, *, axial: bool) -> StartDensity:
        """Choose the concentration by the likelihood of points that are left out in turn.

        Args:
            y: First points, unit vectors of shape (m, 3).
            axial: Whether all longitudes are alike.

        Returns:
            The density.
        """
        y = np.asarray(y, np.float64)
        kept = np.unique(np.linspace(0, len(y) - 1, MAX_CENTRES).round().astype(int))
        return cls(y[kept], best_concentration(y[kept], axial=axial), axial)

    def log_prob(self, y: Float[Array, " 3"]) -> Scalar:
        """Log-density with respect to area.

        Args:
            y: A unit vector, shape (3,).

        Returns:
            Nats.
        """
        centres = jnp.asarray(self.centres, y.dtype)
        if self.axial:
            terms = log_axial_density(y, centres, self.concentration)
        else:
            terms = log_density(centres @ y, self.concentration)
        return jax.scipy.special.logsumexp(terms) - np.log(len(centres))

    def sample(self, *, key: PRNGKeyArray, num_samples: int) -> Float[Array, "s 3"]:
        """Draw first points.

        Args:
            key: Random key.
            num_samples: Number s of points.

        Returns:
            Unit vectors, shape (s, 3).
        """
        centre_key, angle_key, turn_key, axis_key = jr.split(key, 4)
        centres = jnp.asarray(self.centres, jnp.result_type(float))
        chosen = centres[jr.randint(centre_key, (num_samples,), 0, len(centres))]
        keys = {"angle_key": angle_key, "turn_key": turn_key}
        y = sample_around(chosen, self.concentration, **keys)
        if not self.axial:
            return y
        turn = 2 * jnp.pi * jr.uniform(axis_key, (num_samples,), y.dtype)
        cos, sin = jnp.cos(turn), jnp.sin(turn)
        east = cos * y[:, 0] - sin * y[:, 1], sin * y[:, 0] + cos * y[:, 1]
        return jnp.stack([*east, y[:, 2]], axis=1)
