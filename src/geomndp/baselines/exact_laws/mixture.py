r"""One of several exact laws, each as likely as the others: Bayes' rule over the components."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _validation
from geomndp._types import Array, Float, Inputs, Mask, Outputs
from geomndp.predictive import AbstractPredictive, AbstractProcess, LogProb, exact_log_prob


class MixtureLaw(AbstractProcess):
    r"""$p(y) = \frac{1}{K} \sum_k p_k(y)$ over whole functions.

    Args:
        members: Exact laws of functions with the same outputs.
    """

    members: tuple[AbstractProcess, ...]

    def condition(
        self, x: Inputs, y: Outputs, noise: Any = 0.0, mask: Mask | None = None
    ) -> MixtureLawPredictive:
        """Law of new values given observed ones, which weigh the members by their densities.

        Args:
            x: Context inputs, shape (n, d); n = 0 gives the prior.
            y: Observed values, shape (n, p).
            noise: Must be 0.
            mask: 1 for real rows, 0 for padding, shape (n,).

        Returns:
            The mixture of the members' own laws.

        Raises:
            ValueError: If there is further noise.
        """
        if _validation.concrete(noise) and np.any(np.asarray(noise) != 0):
            raise ValueError(f"expected observations without further noise, got noise {noise}")
        priors = [member.condition(x[:0], y[:0]) for member in self.members]
        evidence = jnp.stack([prior.log_prob(x, y, mask=mask) for prior in priors])
        laws = tuple(member.condition(x, y, mask=mask) for member in self.members)
        return MixtureLawPredictive(laws, jax.nn.log_softmax(evidence))


class MixtureLawPredictive(AbstractPredictive):
    """Mixture of predictive laws.

    Attributes:
        laws: Law of every member given the observations.
        log_weights: Logarithms of their probabilities, shape (members,).
    """

    laws: tuple[AbstractPredictive, ...]
    log_weights: Float[Array, " k"]

    def sample(self, x, *, key, num_samples):
        """Draw (num_samples, n, p) functions, each of a member drawn by its probability."""
        choice_key, *keys = jr.split(key, 1 + len(self.laws))
        choice = jr.categorical(choice_key, self.log_weights, shape=(num_samples,))
        draws = [
            law.sample(x, key=key, num_samples=num_samples)
            for law, key in zip(self.laws, keys, strict=True)
        ]
        return jnp.stack(draws)[choice, jnp.arange(num_samples)]

    def log_prob_info(self, x, y, *, key=None, mask=None) -> LogProb:
        """Joint log-density of values, exact up to the members' own."""
        log_probs = jnp.stack([law.log_prob(x, y, mask=mask) for law in self.laws])
        return exact_log_prob(jax.scipy.special.logsumexp(self.log_weights + log_probs))
