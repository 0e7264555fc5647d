r"""The score of one function's free points at one time, any context held at its own times.

With the context at time zero (or, for noisy observations, at the small time whose noise is the
observation's) the score of the free points is that of their conditional law: $u_* = -E[\xi_* | Y]$
is exact for any limiting kernel, since $\xi_*$ keeps its law given the context.
"""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp

from geomndp._linalg import AbstractGram
from geomndp._types import Array, Float, Inputs, Mask, Outputs, Scalar
from geomndp.noising import OrnsteinUhlenbeck
from geomndp.score import AbstractScore


class Context(eqx.Module):
    """Observed points that stay as they are, each at its own diffusion time."""

    x: Inputs
    y: Outputs
    t: Float[Array, " n"]


class Field(eqx.Module):
    """Free points x of one function, with the law that the score describes."""

    noising: OrnsteinUhlenbeck
    score: AbstractScore
    x: Inputs
    mask: Mask | None = None
    context: Context | None = None

    def u(self, t: Scalar, y: Outputs) -> Outputs:
        """Score u of the free points at time t."""
        context = self.context
        if context is None:
            return self.score(self.noising, t, self.x, y, self.mask)
        n = len(context.x)
        times = jnp.concatenate([context.t, jnp.broadcast_to(t, (len(self.x),))])
        mask = self.mask
        if mask is not None:
            mask = jnp.concatenate([jnp.ones(n, dtype=mask.dtype), mask])
        x, y = jnp.concatenate([context.x, self.x]), jnp.concatenate([context.y, y])
        return self.score(self.noising, times, x, y, mask)[n:]

    def clean(self, t: Scalar, y: Outputs, u: Outputs) -> Outputs:
        r"""Tweedie's mean of the clean values, $m + (y - m + \sigma u) / a$."""
        m = self.mean()
        return m + (y - m + self.noising.sigma(t) * u) / self.noising.alpha(t)

    def flow(self, t: Scalar, y: Outputs) -> Outputs:
        r"""Probability flow, $\frac12 \beta (m - y - u / \sigma)$."""
        drift = self.mean() - y - self.u(t, y) / self.noising.sigma(t)
        return self._real(0.5 * self.noising.schedule.beta(t) * drift)

    def mean(self) -> Outputs:
        """Mean of the limiting law at the free points."""
        return self.noising.mean_at(self.x)

    def gram(self) -> AbstractGram:
        """Covariance of the limiting law at the free points."""
        return self.noising.gram(self.x, self.mask)

    def _real(self, v: Array) -> Array:
        return v if self.mask is None else self.mask[:, None] * v
