r"""Ornstein-Uhlenbeck noising of a function towards a Gaussian process.

$Y = A Y_0 + (1 - A) m + D \xi$ with $\xi = S z \sim N(0, K)$, $A = diag\,a(t_i)$,
$D = diag\,\sigma(t_i)$, $a = e^{-B/2}$, $\sigma^2 = 1 - e^{-B}$; at equal times it solves
$dY = \frac12 (m - Y) \beta dt + \sqrt\beta S dB$ (the paper's equation for the forward process).
"""

from __future__ import annotations

import functools

import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._types import Inputs, Mask, Outputs, PRNGKeyArray, Scalar, Times
from geomndp.geometry import Euclidean
from geomndp.kernels import AbstractKernel
from geomndp.kernels.base import Mean, mean_values
from geomndp.linalg import (
    AbstractGram,
    DiagonalGram,
    columns,
    of_one_rank,
    per_point,
    row_mask,
    safe_sqrt,
    zero_masked,
)
from geomndp.noising.base import AbstractNoising, Perturbed
from geomndp.noising.schedule import AbstractSchedule

_flat_space = functools.cache(Euclidean)


class OrnsteinUhlenbeck(AbstractNoising):
    """Noising with limiting law GP(mean, kernel); values in flat space.

    Args:
        kernel: Covariance of the limiting law.
        schedule: Rate of noising.
        mean: Mean function of the limiting law, x (n, d) -> (n, p); None is zero.

    Example:
        `gn.noising.OrnsteinUhlenbeck(gn.kernels.White(), gn.noising.LinearSchedule(0.0, 10.0))`
    """

    kernel: AbstractKernel
    schedule: AbstractSchedule
    mean: Mean | None = None

    @property
    def manifold(self) -> Euclidean:
        """Flat space."""
        return _flat_space(self.dim)

    @property
    def flat(self) -> bool:
        return True

    def log_mean_coefficient(self, integrated_time):
        return -0.5 * integrated_time

    def transition_std(self, integrated_time):
        """Standard deviation of the noise relative to the limiting law, sqrt(1 - exp(-B))."""
        return safe_sqrt(-jnp.expm1(-integrated_time))

    def mean_at(self, x: Inputs) -> Outputs:
        """Mean of the limiting law."""
        return mean_values(self.mean, x, self.dim)

    def mean_reversion(self, x, y):
        return self.mean_at(x) - y

    def transition(self, integrated_time, x, y, xi):
        b, m = columns(per_point(integrated_time, len(x)), self.dim), self.mean_at(x)
        return m + jnp.exp(self.log_mean_coefficient(b)) * (y - m) + self.transition_std(b) * xi

    def limit_from_noise(self, x, xi):
        return self.mean_at(x) + xi

    def integrated_time_of_noise(self, x, noise):
        r"""With white K of variance v, where $\sigma^2 / a^2 = e^B - 1$ is noise / v."""
        gram = self.gram(x)
        if not isinstance(gram, DiagonalGram):
            raise ValueError(f"expected a white kernel, got {type(self.kernel).__name__}")
        noise, variance = of_one_rank(noise, gram.variance)
        return jnp.log1p(noise / variance)

    def marginal(self, t: Times, x: Inputs, y0: Outputs) -> tuple[Outputs, AbstractGram]:
        """Mean A y_0 + (1 - A) m and covariance D K D of the noised values given the clean.

        Args:
            t: Diffusion times, a scalar, (n,) or (n, g).
            x: Inputs (n, d).
            y0: Clean values (n, p).
        """
        _validation.shapes(x, y0, dim=self.dim)
        t = per_point(t, len(x))
        a, m = columns(self.alpha(t), self.dim), self.mean_at(x)
        return m + a * (y0 - m), self.gram(x).scale(self.sigma(t))

    def perturb(
        self, t: Times, x: Inputs, y0: Outputs, *, key: PRNGKeyArray, mask: Mask | None = None
    ) -> Perturbed:
        """Draw noised values, by the symmetric root of K."""
        _validation.shapes(x, y0, dim=self.dim, mask=mask)
        t, x = per_point(t, len(x)), zero_masked(x, row_mask(mask))
        z = zero_masked(jr.normal(key, y0.shape, dtype=y0.dtype), mask)
        xi = zero_masked(self.gram(x, mask).root_mv(z), mask)
        y = self.transition(self.schedule.integral(t), x, y0, xi)
        return Perturbed(zero_masked(y, mask), xi, z)

    def drift(self, t: Scalar, x: Inputs, y: Outputs) -> Outputs:
        """Forward drift (m - y) beta / 2 at time t, inputs x (n, d), values y (n, p)."""
        return 0.5 * self.schedule.beta(t) * self.mean_reversion(x, y)

    def diffusion(self, t: Scalar, x: Inputs, v: Outputs) -> Outputs:
        """Forward diffusion sqrt(beta) S at time t and inputs x (n, d), applied to v (n, p)."""
        return jnp.sqrt(self.schedule.beta(t)) * self.gram(x).root_mv(v)

    def prior_sample(self, x: Inputs, *, key: PRNGKeyArray, mask: Mask | None = None) -> Outputs:
        """Draw from the limiting law."""
        z = jr.normal(key, (len(x), self.dim), dtype=x.dtype)
        return self.mean_at(x) + self.gram(x, mask).root_mv(z)

    def prior_log_prob(self, x: Inputs, y: Outputs, mask: Mask | None = None) -> Scalar:
        """Log-density of the limiting law."""
        _validation.shapes(x, y, dim=self.dim, mask=mask)
        x = zero_masked(x, row_mask(mask))
        return self.gram(x, mask).log_density(y - self.mean_at(x), mask)
