r"""Brownian motion on a manifold, in closed form: density, score and exact draws at any time s.

Generator: half the Laplacian, so that at small times the law is $N(0, s I)$ in the tangent space.
"""

import abc
import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp._types import Array, Float, PRNGKeyArray
from geomndp.geometry.base import AbstractManifold, Lengths, Points, norm
from geomndp.geometry.heat import warp
from geomndp.linalg import LOG_2PI

HeatTimes = Float[Array, "*n"]
"""Times of the heat kernel, one a point."""


class AbstractHeatKernel(eqx.Module):
    """Law of Brownian motion at time s that started in `centre`; all arguments have one shape."""

    @abc.abstractmethod
    def log_prob(self, s: HeatTimes, centre: Points, y: Points) -> Lengths:
        """Log-density with respect to volume, one a point."""

    @abc.abstractmethod
    def score(self, s: HeatTimes, centre: Points, y: Points) -> Points:
        """Gradient of the log-density in y: a tangent vector there."""

    @abc.abstractmethod
    def displace(self, s: HeatTimes, centre: Points, z: Points) -> Points:
        """Draw from the law, as a function of white noise z in R^p."""

    def sample(self, s: HeatTimes, centre: Points, *, key: PRNGKeyArray) -> Points:
        """Draw from the law."""
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


class Radial(AbstractHeatKernel):
    """Law that depends on the distance only: circle, sphere, rotations.

    `log_density(s, r)` as in `densities`; without `log_area`, that of the spheres around a point up
    to the distance `radius`, Gaussian noise is wrapped around as it is (right on the circle alone).
    """

    manifold: AbstractManifold
    log_density: Callable = eqx.field(static=True)
    log_area: Callable | None = eqx.field(static=True)
    radius: float = eqx.field(static=True)

    @eqx.filter_jit
    def log_prob(self, s, centre, y):
        return self.log_density(s, self.manifold.distance(centre, y))

    @eqx.filter_jit
    def slope(self, s: HeatTimes, r: Lengths) -> Lengths:
        """Derivative of the log-density in the distance."""
        return jax.jvp(lambda r: self.log_density(s, r), (r,), (jnp.ones_like(r),))[1]

    @eqx.filter_jit
    def score(self, s, centre, y):
        # slope / r is even and smooth in r: below `small` its value there is as good.
        small = 1e-3 if y.dtype == jnp.float32 else 1e-5
        r = jnp.maximum(self.manifold.distance(centre, y), small)
        return (-self.slope(s, r) / r)[..., None] * self.manifold.log(y, centre)

    @eqx.filter_jit
    def displace(self, s, centre, z):
        g = self.manifold.project(centre, z)
        if self.log_area is None:
            return self.manifold.exp(centre, jnp.sqrt(s)[..., None] * g)
        ratios = warp.table(self.log_density, self.log_area, self.radius, self.manifold.dim)
        ratio = warp.lookup(ratios, s, norm(g)[..., 0])
        root = jnp.sqrt(jnp.minimum(s, warp.HIGH))
        return self.manifold.exp(centre, (root * ratio)[..., None] * g)


class Independent(AbstractHeatKernel):
    """Product of heat kernels on parts of the coordinates, `sizes` of them."""

    kernels: tuple[AbstractHeatKernel, ...]
    sizes: tuple[int, ...] = eqx.field(static=True)

    def _parts(self, *arrays: Array):
        ends = np.cumsum(self.sizes)[:-1]
        return zip(self.kernels, *(jnp.split(a, ends, axis=-1) for a in arrays), strict=True)

    def log_prob(self, s, centre, y):
        logs = [kernel.log_prob(s, a, b) for kernel, a, b in self._parts(centre, y)]
        return jnp.sum(jnp.stack(logs), axis=0)

    def score(self, s, centre, y):
        parts = [kernel.score(s, a, b) for kernel, a, b in self._parts(centre, y)]
        return jnp.concatenate(parts, axis=-1)

    def displace(self, s, centre, z):
        parts = [kernel.displace(s, a, b) for kernel, a, b in self._parts(centre, z)]
        return jnp.concatenate(parts, axis=-1)


def circle_area(r: np.ndarray) -> np.ndarray:
    """Log-circumference of a circle on the sphere."""
    return np.log(2 * math.pi * np.sin(r))


def rotation_area(r: np.ndarray) -> np.ndarray:
    """Log-area, up to a constant, of the rotations by one angle, which is r / sqrt(2)."""
    return 2 * np.log(np.sin(r / math.sqrt(8)))
