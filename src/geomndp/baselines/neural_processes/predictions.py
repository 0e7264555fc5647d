r"""Laws of the values at given target inputs, as networks of neural processes give them.

A law is over n targets of p outputs each. Masked targets change nothing: they are left out of
densities, and samples there mean nothing.
"""

from __future__ import annotations

import abc
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp._types import Array, Float, Mask, Outputs, PRNGKeyArray, Scalar
from geomndp.baselines.neural_processes.mixture_marginals import NormalMixtureMarginals
from geomndp.linalg import MatrixGram, zero_masked
from geomndp.marginals import AbstractMarginals, NormalMarginals
from geomndp.predictive import LogProb, exact_log_prob


class AbstractPrediction(eqx.Module):
    """Law of values at n targets."""

    @abc.abstractmethod
    def log_prob(self, y: Outputs, mask: Mask | None = None) -> Scalar:
        """Joint log-density.

        Args:
            y: Values, shape (n, p).
            mask: 1 for real targets, 0 for padding, shape (n,).

        Returns:
            Nats over the unmasked targets.
        """

    @abc.abstractmethod
    def sample(self, *, key: PRNGKeyArray, num_samples: int) -> Float[Array, "s n p"]:
        """Draw values.

        Args:
            key: Random key.
            num_samples: Number s of draws.

        Returns:
            Shape (s, n, p).
        """

    @abc.abstractmethod
    def marginal_log_prob(self, y: Outputs) -> Float[Array, " n"]:
        """Log-density of every target by itself, all its p outputs together.

        Args:
            y: Values, shape (n, p).

        Returns:
            Nats, shape (n,).
        """

    @abc.abstractmethod
    def marginals(self) -> AbstractMarginals:
        """Law of each of the n p values by itself."""

    def log_prob_info(self, y: Outputs, mask: Mask | None = None) -> LogProb:
        """Joint log-density as by `log_prob`, with the errors of its computation."""
        return exact_log_prob(self.log_prob(y, mask))

    def mean(self) -> Outputs:
        """Mean of every value, shape (n, p)."""
        return self.marginals().mean()

    def std(self) -> Outputs:
        """Standard deviation of every value, shape (n, p)."""
        return self.marginals().std()


class FactorisedGaussian(AbstractPrediction):
    r"""Independent normal values, $\prod_{ia} N(y_{ia}; m_{ia}, s_{ia}^2)$.

    Args:
        location: Means m, shape (n, p).
        scale: Standard deviations s, shape (n, p).
    """

    location: Outputs
    scale: Outputs

    def log_prob(self, y, mask=None):
        return jnp.sum(zero_masked(self.marginals().log_prob(zero_masked(y, mask)), mask))

    def sample(self, *, key, num_samples):
        noise = jr.normal(key, (num_samples, *self.location.shape), self.location.dtype)
        return self.location[None] + self.scale[None] * noise

    def marginal_log_prob(self, y):
        return jnp.sum(self.marginals().log_prob(y), axis=1)

    def marginals(self):
        return NormalMarginals(self.location, self.scale)


def gaussian_head(raw: Float[Array, "n two_p"], min_std: float) -> FactorisedGaussian:
    r"""Independent normal values from the outputs of a network.

    Args:
        raw: Means, and numbers r with standard deviations `min_std` + log(1 + exp r), shape
            (n, 2 p).
        min_std: Smallest standard deviation.

    Returns:
        The law of (n, p) values.
    """
    location, unbounded = jnp.split(raw, 2, axis=1)
    return FactorisedGaussian(location, min_std + jax.nn.softplus(unbounded))


class JointGaussian(AbstractPrediction):
    """Normal values that depend on each other.

    A shift of the diagonal, relative to its mean, keeps the covariance of coincident targets
    positive definite (see `linalg.jitter`).

    Args:
        location: Means, shape (n, p).
        covariance: Noise included, shape (n p, n p), on flattened (target, output) indices.
    """

    location: Outputs
    covariance: Float[Array, "np np"]

    def _gram(self) -> MatrixGram:
        return MatrixGram(self.covariance, self.location.shape[1], False)

    def log_prob(self, y, mask=None):
        return self._gram().log_density(zero_masked(y - self.location, mask), mask)

    def sample(self, *, key, num_samples):
        noise = jr.normal(key, (num_samples, *self.location.shape), self.location.dtype)
        return self.location[None] + jax.vmap(self._gram().cholesky_mv)(noise)

    def marginal_log_prob(self, y):
        n, p = self.location.shape
        blocks = self.covariance.reshape(n, p, n, p)[jnp.arange(n), :, jnp.arange(n), :]

        def one(block, difference):
            return MatrixGram(block, p, False).log_density(difference[None])

        return jax.vmap(one)(blocks, y - self.location)

    def marginals(self):
        return NormalMarginals(self.location, jnp.sqrt(self._gram().diagonal()))


class GaussianMixture(AbstractPrediction):
    r"""Equal mixture of factorised Gaussians, $\frac{1}{k} \sum_j \prod_{ia} N(y_{ia}; \cdot)$.

    Of a neural process with a latent variable, the mixture over k samples of it.

    Args:
        locations: Means of the components, shape (k, n, p).
        scales: Standard deviations of the components, shape (k, n, p).
    """

    locations: Float[Array, "k n p"]
    scales: Float[Array, "k n p"]

    def log_prob(self, y, mask=None):
        each = jax.vmap(lambda m, s: FactorisedGaussian(m, s).log_prob(y, mask))
        return log_mean_exp(each(self.locations, self.scales))

    def sample(self, *, key, num_samples):
        choice_key, noise_key = jr.split(key)
        chosen = jr.randint(choice_key, (num_samples,), 0, len(self.locations))
        noise = jr.normal(noise_key, (num_samples, *self.locations.shape[1:]), self.locations.dtype)
        return self.locations[chosen] + self.scales[chosen] * noise

    def marginal_log_prob(self, y):
        each = jax.vmap(lambda m, s: FactorisedGaussian(m, s).marginal_log_prob(y))
        return log_mean_exp(each(self.locations, self.scales))

    def marginals(self):
        return NormalMixtureMarginals(self.locations, self.scales)


def log_mean_exp(values: Float[Array, "k *m"]) -> Float[Array, "*m"]:
    """Logarithm of the mean of exponentials over the first axis."""
    return jax.scipy.special.logsumexp(values, axis=0) - math.log(len(values))


__all__ = [
    "AbstractPrediction",
    "FactorisedGaussian",
    "GaussianMixture",
    "JointGaussian",
    "gaussian_head",
    "log_mean_exp",
]
