"""Marginals of mixtures of many normal laws: arrays of members, so that programs stay small."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp

from geomndp._bisection import bisected_quantiles
from geomndp._types import Array, Float
from geomndp.marginals import AbstractMarginals, NormalMarginals, levels


class NormalMixtureMarginals(AbstractMarginals):
    """Values of an equal mixture of k normal laws each.

    Args:
        locations: Means of the members, shape (k, n, p).
        scales: Standard deviations of the members, shape (k, n, p).
    """

    locations: Float[Array, "k n p"]
    scales: Float[Array, "k n p"]

    def mean(self):
        return jnp.mean(self.locations, axis=0)

    def std(self):
        spread = self.locations - self.mean()[None]
        return jnp.sqrt(jnp.mean(spread**2 + self.scales**2, axis=0))

    def cdf(self, y):
        each = jax.vmap(lambda m, s: NormalMarginals(m, s).cdf(y))
        return jnp.mean(each(self.locations, self.scales), axis=0)

    def log_prob(self, y):
        each = jax.vmap(lambda m, s: NormalMarginals(m, s).log_prob(y))
        log_probs = each(self.locations, self.scales)
        return jax.scipy.special.logsumexp(log_probs, axis=0) - math.log(len(log_probs))

    def quantile(self, q):
        q = levels(q, self.locations.dtype)
        each = jax.vmap(lambda m, s: NormalMarginals(m, s).quantile(q.reshape(-1)))
        return bisected_quantiles(self.cdf, each(self.locations, self.scales), q)
