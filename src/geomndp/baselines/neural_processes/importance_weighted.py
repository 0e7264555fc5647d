r"""Densities of a latent-variable process with the latent variable inferred from the values.

$$\log p(y | C) \ge \mathrm{E} \log \frac{1}{k} \sum_j
\frac{p(y | z_j)\, p(z_j | C)}{q(z_j | C, y)}, \quad z_j \sim q(z | C, y)$$

(Burda et al. 2016), where q is the law that the process gives the latent variable when the targets
are observed too.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp._types import PRNGKeyArray
from geomndp.baselines.neural_processes.predictions import (
    AbstractPrediction,
    GaussianMixture,
    log_mean_exp,
)
from geomndp.baselines.neural_processes.set_conv import where_covered
from geomndp.linalg import zero_masked

SAMPLES_AT_ONCE = 32
"""Samples of the latent variable that are decoded together, a matter of memory alone."""


class ImportanceWeighted(AbstractPrediction):
    """Law of the targets whose joint log-density is an importance-weighted bound.

    Samples and marginals are those of the mixture over samples given the context.

    Attributes:
        process: The process, with `grid`, `latent` and `decode`.
        mixture: Law given samples of the latent variable given the context.
        context: Context inputs (c, d), values (c, p) and mask (c,).
        targets: Target inputs (n, d) and mask (n,).
        key: Random key of the samples.
    """

    process: Any
    mixture: GaussianMixture
    context: tuple[Any, Any, Any]
    targets: tuple[Any, Any]
    key: PRNGKeyArray

    def log_prob(self, y, mask=None):
        (xc, yc, context_mask), (x, real) = self.context, self.targets
        mask = real if mask is None else real * mask
        process, grid = self.process, self.process.grid((xc, context_mask), (x, real))
        prior = process.latent(xc, yc, context_mask, grid)
        everything = jnp.concatenate([xc, x]), jnp.concatenate([yc, zero_masked(y, mask)])
        posterior = process.latent(*everything, jnp.concatenate([context_mask, mask]), grid)

        def one(key):
            z = posterior.sample(key=key)
            nats = process.decode(z, grid, x).log_prob(y, mask)
            return nats + prior.log_prob(z) - posterior.log_prob(z)

        keys = jr.split(self.key, len(self.mixture.locations))
        value = log_mean_exp(jax.lax.map(one, keys, batch_size=SAMPLES_AT_ONCE))
        return where_covered(value, grid, (xc, context_mask), (x, real))

    def sample(self, *, key, num_samples):
        return self.mixture.sample(key=key, num_samples=num_samples)

    def marginal_log_prob(self, y):
        return self.mixture.marginal_log_prob(y)

    def marginals(self):
        return self.mixture.marginals()
