r"""Brownian noising on a compact manifold, exact at any time.

$Y_t$ given $Y_0$ follows the heat kernel $p_s$ at the time $s = B(t)$, independently per point. The
noise is $\xi = -\sqrt s \nabla \log p_s(y | y_0)$, a tangent vector of unit
scale at y, so that $u = -E[\xi | Y] = \sqrt s \nabla \log p_t(Y)$ is what every score returns, as
in flat space with K = I and sigma = sqrt(s).
"""

from __future__ import annotations

import math

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._types import Inputs, Mask, Outputs, PRNGKeyArray, Scalar, Times
from geomndp.geometry import AbstractManifold, has_heat_kernel, heat_kernel, random_walk
from geomndp.kernels import Diagonal, White
from geomndp.linalg import per_point, safe_sqrt, zero_masked
from geomndp.noising.base import AbstractNoising, Perturbed
from geomndp.noising.schedule import AbstractSchedule

SMALLEST = 1e-12  # heat time of a point that has not moved: keeps its score finite


class Brownian(AbstractNoising):
    """Noising towards the uniform law; values are points (n, p) in the coordinates of R^p.

    Args:
        manifold: A compact manifold.
        schedule: Rate of noising; B(t) is the heat kernel's time.
        walk: Number of steps of a geodesic random walk, where there is no closed form.

    Raises:
        ValueError: If the manifold is not compact.

    Example:
        `gn.noising.Brownian(gn.geometry.Sphere(2), gn.noising.LinearSchedule(1e-4, 15.0))`
    """

    manifold: AbstractManifold
    schedule: AbstractSchedule
    walk: int = eqx.field(default=100, static=True)

    def __check_init__(self):
        _validation.at_least(1, walk=self.walk)
        if not math.isfinite(self.manifold.log_volume):
            raise ValueError(f"expected a compact manifold, got {self.manifold}")

    @property
    def kernel(self) -> Diagonal:
        """White noise of R^p, of which the tangent part is used."""
        return Diagonal(White(), self.manifold.ambient_dim)

    def log_mean_coefficient(self, integrated_time):
        return jnp.zeros_like(integrated_time)

    def transition_std(self, integrated_time):
        return safe_sqrt(integrated_time)

    def mean_at(self, x):
        return jnp.zeros((len(x), self.dim), dtype=x.dtype)

    def mean_reversion(self, x, y):
        return jnp.zeros_like(y)

    def transition(self, integrated_time, x, y, xi):
        return heat_kernel(self.manifold).displace(per_point(integrated_time, len(x)), y, xi)

    def limit_from_noise(self, x, xi):
        return self.manifold.retract(xi)

    def integrated_time_of_noise(self, x, noise):
        return noise

    def diffuse(
        self, t: Times, x: Inputs, y0: Outputs, *, key: PRNGKeyArray, mask: Mask | None = None
    ) -> Outputs:
        """Draw noised values, by a geodesic random walk where there is no closed form."""
        _validation.shapes(x, y0, dim=self.dim, mask=mask)
        s = self.schedule.integral(per_point(t, len(x)))
        if has_heat_kernel(self.manifold):
            y = heat_kernel(self.manifold).sample(s, y0, key=key)
        else:
            y = random_walk(self.manifold, s, y0, key=key, steps=self.walk)
        return zero_masked(y, mask)

    def perturb(
        self, t: Times, x: Inputs, y0: Outputs, *, key: PRNGKeyArray, mask: Mask | None = None
    ) -> Perturbed:
        """Draw noised values and the exact target of the denoising loss, -xi."""
        _validation.shapes(x, y0, dim=self.dim, mask=mask)
        s = self.schedule.integral(per_point(t, len(x)))
        heat = heat_kernel(self.manifold)
        z = zero_masked(jr.normal(key, y0.shape, dtype=y0.dtype), mask)
        y = heat.displace(s, y0, z)
        xi = -safe_sqrt(s)[:, None] * heat.score(jnp.maximum(s, SMALLEST), y0, y)
        return Perturbed(zero_masked(y, mask), zero_masked(xi, mask), z)

    def prior_sample(self, x: Inputs, *, key: PRNGKeyArray, mask: Mask | None = None) -> Outputs:
        """Draw from the uniform law."""
        return self.manifold.uniform(len(x), key=key, dtype=x.dtype)

    def prior_log_prob(self, x: Inputs, y: Outputs, mask: Mask | None = None) -> Scalar:
        """Log-density of the uniform law, minus the number of points times log volume."""
        _validation.shapes(x, y, dim=self.dim, mask=mask)
        points = jnp.asarray(len(x), y.dtype) if mask is None else jnp.sum(mask)
        return -self.manifold.log_volume * points
