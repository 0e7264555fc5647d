r"""Von Mises-Fisher laws on the sphere: $p(y) = C_\kappa \exp(\kappa (\cos\theta - 1))$."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.scipy.special import i0e
from scipy import special

from geomndp._types import Array, Float, PRNGKeyArray, ScalarLike
from geomndp.geometry.geodesy import east_and_north
from geomndp.geometry.sphere import Sphere

CONCENTRATIONS = 10.0 ** np.linspace(1, 5, 17)
NUM_LEAVE_ONE_OUT = 1000
"""At most so many points choose a concentration."""


def log_density(cosine, concentration):
    r"""$\log \frac{\kappa}{2 \pi (1 - e^{-2 \kappa})} + \kappa (\cos \theta - 1)$.

    Args:
        cosine: Cosine of the angle to the centre, any shape; an array of JAX or NumPy.
        concentration: $\kappa$, positive.

    Returns:
        Nats with respect to area, of the shape of `cosine`.
    """
    xp = jnp if isinstance(cosine, jax.Array) else np
    return log_factor(concentration, xp) + concentration * (cosine - 1)


def log_factor(concentration, xp=jnp):
    """Log of the factor that makes the integral one; arguments as those of `log_density`."""
    return xp.log(concentration) - np.log(2 * np.pi) - xp.log1p(-xp.exp(-2 * concentration))


def log_axial_density(y, centres, concentration):
    r"""Log-density of a law that is turned about the Earth's axis by a random angle.

    $\frac{1}{2 \pi} \int e^{\kappa \cos\theta} d\phi
    = e^{\kappa z z'} I_0(\kappa \sqrt{(1 - z^2)(1 - z'^2)})$.

    Args:
        y: Unit vector, shape (3,); an array of JAX or NumPy.
        centres: Unit vectors, shape (m, 3).
        concentration: $\kappa$, positive.

    Returns:
        Nats with respect to area, shape (m,).
    """
    xp, bessel = (jnp, i0e) if isinstance(y, jax.Array) else (np, special.i0e)
    levels = xp.hypot(y[0], y[1]) * xp.hypot(centres[:, 0], centres[:, 1])
    cosine = y[2] * centres[:, 2] + levels  # of the difference of the latitudes
    spread = xp.log(bessel(concentration * levels))
    return log_factor(concentration, xp) + concentration * (cosine - 1) + spread


def best_concentration(centres: np.ndarray, *, axial: bool = False) -> float:
    """Concentration of a mixture around points by the likelihood of those left out in turn.

    Args:
        centres: Unit vectors, shape (m, 3).
        axial: Whether the laws are turned about the Earth's axis.

    Returns:
        The best of 17 values from 10 to 1e5.
    """
    centres = np.asarray(centres, float)
    kept = np.unique(np.linspace(0, len(centres) - 1, NUM_LEAVE_ONE_OUT).round().astype(int))
    cosine = np.clip(centres[kept] @ centres.T, -1, 1)
    own = np.zeros(cosine.shape, bool)
    own[np.arange(len(kept)), kept] = True

    def likelihood(concentration: float) -> float:
        if axial:
            nats = np.stack([log_axial_density(centres[i], centres, concentration) for i in kept])
        else:
            nats = log_density(cosine, concentration)
        return float(np.logaddexp.reduce(np.where(own, -np.inf, nats), axis=1).sum())

    return float(max(CONCENTRATIONS, key=likelihood))


def sample_around(
    centre: Float[Array, "s 3"],
    concentration: ScalarLike,
    *,
    angle_key: PRNGKeyArray,
    turn_key: PRNGKeyArray,
) -> Float[Array, "s 3"]:
    """Draw one point around each centre: the law of the angle has a closed inverse (Ulrich 1984).

    Args:
        centre: Unit vectors, shape (s, 3).
        concentration: That of the law.
        angle_key: Random key of the distances.
        turn_key: Random key of the directions.

    Returns:
        Unit vectors, shape (s, 3).
    """
    u = jr.uniform(angle_key, (len(centre),), centre.dtype)
    fall = -jnp.log(u + (1 - u) * jnp.exp(-2 * concentration)) / concentration
    angle = 2 * jnp.arcsin(jnp.sqrt(jnp.clip(fall / 2, 0, 1)))
    turn = 2 * jnp.pi * jr.uniform(turn_key, (len(centre),), centre.dtype)
    v = angle[:, None] * jnp.stack([jnp.cos(turn), jnp.sin(turn)], axis=-1)
    return Sphere(2).exp(centre, jnp.einsum("sk,ska->sa", v, east_and_north(centre)))
