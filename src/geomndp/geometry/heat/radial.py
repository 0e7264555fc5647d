r"""Heat kernels that depend on the distance only, such as those of spheres and of SO(3)."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp

from geomndp.geometry.base import AbstractManifold
from geomndp.geometry.heat import radial_inverse_cdf as inverse_cdf
from geomndp.geometry.heat.kernel import AbstractHeatKernel, HeatTimes, Lengths
from geomndp.linalg import norm


class Radial(AbstractHeatKernel):
    """Law that depends on the distance from the centre only.

    `log_density(s, r)` is as in `densities`, `log_area(r)` that of the sphere of radius r around a
    point, up to the distance `radius`; without it Gaussian noise is wrapped around the manifold,
    which is exact on the circle alone.
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
        """Derivative of the log-density in the distance.

        Args:
            s: Times, shape (...).
            r: Distances, shape (...).
        """
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
        ratios = inverse_cdf.table(self.log_density, self.log_area, self.radius, self.manifold.dim)
        ratio = inverse_cdf.lookup(ratios, s, norm(g)[..., 0])
        root = jnp.sqrt(jnp.minimum(s, inverse_cdf.HIGH))
        return self.manifold.exp(centre, (root * ratio)[..., None] * g)
