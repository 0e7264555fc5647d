r"""Ornstein-Uhlenbeck noising of a function towards a Gaussian process.

$Y = A Y_0 + (1 - A) m + D \xi$ with $\xi = S z \sim N(0, K)$, $A = diag\,a(t_i)$,
$D = diag\,\sigma(t_i)$, $a = e^{-B/2}$, $\sigma^2 = 1 - e^{-B}$; at equal times it solves
$dY = \frac12 (m - Y) \beta dt + \sqrt\beta S dB$ (the paper's equation for the forward process).
"""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr

from geomndp import _checks
from geomndp._linalg import AbstractGram, zero_masked
from geomndp._types import Array, Float, Inputs, Mask, Outputs, PRNGKeyArray, Scalar, Times
from geomndp.gp import Mean, mean_values
from geomndp.kernels import AbstractKernel
from geomndp.noising.schedule import AbstractSchedule


def per_point(t: Times, n: int) -> Float[Array, " n"]:
    """One time a point; a scalar stands for all."""
    if jnp.shape(t) not in ((), (n,)):
        raise ValueError(f"expected t of shape () or ({n},), got shape {jnp.shape(t)}")
    return jnp.broadcast_to(t, (n,))


class Perturbed(NamedTuple):
    """Noised values, with the noise that made them: y = A y_0 + (1 - A) m + D xi, xi = S z."""

    y: Outputs
    xi: Outputs
    z: Outputs


class OrnsteinUhlenbeck(eqx.Module):
    """Noising with limiting law GP(mean, kernel)."""

    kernel: AbstractKernel
    schedule: AbstractSchedule
    mean: Mean | None = None

    @property
    def dim(self) -> int:
        """Number of outputs."""
        return self.kernel.dim

    def alpha(self, t: Array) -> Array:
        """Factor that is left of the clean values, exp(-B/2)."""
        return jnp.exp(-0.5 * self.schedule.integral(t))

    def sigma(self, t: Array) -> Array:
        """Standard deviation of the noise relative to the limiting law, sqrt(1 - exp(-B))."""
        variance = -jnp.expm1(-self.schedule.integral(t))
        safe = jnp.where(variance > 0, variance, 1.0)
        return jnp.where(variance > 0, jnp.sqrt(safe), 0.0)

    def mean_at(self, x: Inputs) -> Outputs:
        """Mean of the limiting law."""
        return mean_values(self.mean, x, self.dim)

    def gram(self, x: Inputs, mask: Mask | None = None) -> AbstractGram:
        """Covariance K of the limiting law."""
        return self.kernel.gram(x, mask)

    def marginal(self, t: Times, x: Inputs, y0: Outputs) -> tuple[Outputs, AbstractGram]:
        """Mean A y_0 + (1 - A) m and covariance D K D of the noised values given the clean."""
        _checks.shapes(x, y0, dim=self.dim)
        t = per_point(t, len(x))
        a, m = self.alpha(t)[:, None], self.mean_at(x)
        return m + a * (y0 - m), self.gram(x).scale(self.sigma(t))

    def perturb(
        self, t: Times, x: Inputs, y0: Outputs, *, key: PRNGKeyArray, mask: Mask | None = None
    ) -> Perturbed:
        """Draw noised values, by the symmetric root; zero in masked rows."""
        _checks.shapes(x, y0, dim=self.dim, mask=mask)
        t, x = per_point(t, len(x)), zero_masked(x, mask)
        z = zero_masked(jr.normal(key, y0.shape, dtype=y0.dtype), mask)
        xi = zero_masked(self.gram(x, mask).root_mv(z), mask)
        a, m = self.alpha(t)[:, None], self.mean_at(x)
        y = m + a * (y0 - m) + self.sigma(t)[:, None] * xi
        return Perturbed(zero_masked(y, mask), xi, z)

    def drift(self, t: Scalar, x: Inputs, y: Outputs) -> Outputs:
        """Forward drift (m - y) beta / 2."""
        return 0.5 * self.schedule.beta(t) * (self.mean_at(x) - y)

    def diffusion(self, t: Scalar, x: Inputs, v: Outputs) -> Outputs:
        """Forward diffusion sqrt(beta) S applied to v."""
        return jnp.sqrt(self.schedule.beta(t)) * self.gram(x).root_mv(v)

    def prior_sample(self, x: Inputs, *, key: PRNGKeyArray, mask: Mask | None = None) -> Outputs:
        """Draw from the limiting law."""
        z = jr.normal(key, (len(x), self.dim), dtype=x.dtype)
        return self.mean_at(x) + self.gram(x, mask).root_mv(z)

    def prior_log_prob(self, x: Inputs, y: Outputs, mask: Mask | None = None) -> Scalar:
        """Log-density of the limiting law."""
        _checks.shapes(x, y, dim=self.dim, mask=mask)
        x = zero_masked(x, mask)
        return self.gram(x, mask).log_density(y - self.mean_at(x), mask)
