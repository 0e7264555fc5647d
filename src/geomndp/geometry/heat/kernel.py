r"""Heat kernels: the law of Brownian motion on a manifold at any time s.

Generator: half the Laplacian, so that at small times the law is $N(0, s I)$ in the tangent space.
A time is thus a variance, in squares of the manifold's unit of length: radians squared on the unit
sphere.
"""

import abc

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp._types import Array, Float, PRNGKeyArray
from geomndp.linalg import LOG_2PI

ManifoldPoints = Float[Array, "*n p"]
"""Points, or vectors at them, in the coordinates of R^p."""
Lengths = Float[Array, "*n"]
HeatTimes = Float[Array, "*n"]
"""Times of the heat kernel, one per point, in squares of the unit of length."""


class AbstractHeatKernel(eqx.Module):
    """Law of Brownian motion at time s that started in `centre`; all arguments have one shape."""

    @abc.abstractmethod
    def log_prob(self, s: HeatTimes, centre: ManifoldPoints, y: ManifoldPoints) -> Lengths:
        """Log-density with respect to volume, point by point.

        Args:
            s: Times, shape (...).
            centre: Starting points, shape (..., p).
            y: Points, shape (..., p).

        Returns:
            Nats, shape (...).
        """

    @abc.abstractmethod
    def score(self, s: HeatTimes, centre: ManifoldPoints, y: ManifoldPoints) -> ManifoldPoints:
        """Gradient of the log-density in y.

        Args:
            s: Times, shape (...).
            centre: Starting points, shape (..., p).
            y: Points, shape (..., p).

        Returns:
            Tangent vectors at y, shape (..., p).
        """

    @abc.abstractmethod
    def displace(self, s: HeatTimes, centre: ManifoldPoints, z: ManifoldPoints) -> ManifoldPoints:
        """Draw from the law, as a function of white noise.

        Args:
            s: Times, shape (...).
            centre: Starting points, shape (..., p).
            z: White noise in R^p, shape (..., p).

        Returns:
            Points, shape (..., p).
        """

    def sample(self, s: HeatTimes, centre: ManifoldPoints, *, key: PRNGKeyArray) -> ManifoldPoints:
        """Draw from the law.

        Args:
            s: Times, shape (...).
            centre: Starting points, shape (..., p).
            key: Random key.

        Returns:
            Points, shape (..., p).
        """
        return self.displace(s, centre, jr.normal(key, centre.shape, dtype=centre.dtype))


class Flat(AbstractHeatKernel):
    """Gaussian law of R^p."""

    def log_prob(self, s, centre, y):
        square = jnp.sum((y - centre) ** 2, axis=-1)
        return -0.5 * (square / s + y.shape[-1] * (jnp.log(s) + LOG_2PI))

    def score(self, s, centre, y):
        return (centre - y) / s[..., None]

    def displace(self, s, centre, z):
        return centre + jnp.sqrt(s)[..., None] * z


class Independent(AbstractHeatKernel):
    """Product of independent heat kernels.

    Args:
        kernels: Those of the factors.
        sizes: Number of coordinates of each.
    """

    kernels: tuple[AbstractHeatKernel, ...]
    sizes: tuple[int, ...] = eqx.field(static=True)

    def _parts(self, *arrays: Array):
        ends = np.cumsum(self.sizes)[:-1]
        return zip(self.kernels, *(jnp.split(a, ends, axis=-1) for a in arrays), strict=True)

    def log_prob(self, s, centre, y):
        logs = [kernel.log_prob(s, a, b) for kernel, a, b in self._parts(centre, y)]
        return jnp.sum(jnp.stack(logs), axis=0)

    def score(self, s, centre, y):
        scores = [kernel.score(s, a, b) for kernel, a, b in self._parts(centre, y)]
        return jnp.concatenate(scores, axis=-1)

    def displace(self, s, centre, z):
        displaced = [kernel.displace(s, a, b) for kernel, a, b in self._parts(centre, z)]
        return jnp.concatenate(displaced, axis=-1)
