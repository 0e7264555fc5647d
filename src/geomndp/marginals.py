"""Marginal laws of the values that a predictive law has at each input: moments and quantiles."""

from __future__ import annotations

import abc
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import ndtri

from geomndp import _validation
from geomndp._arrays import keep_float64
from geomndp._bisection import bisected_quantiles
from geomndp._types import Array, Float, Outputs


class AbstractMarginals(eqx.Module):
    """One law per value at n inputs: each by itself, whatever their dependence."""

    exact: ClassVar[bool] = True
    """Whether moments and quantiles are those of the law itself, not of samples."""

    @abc.abstractmethod
    def mean(self) -> Outputs:
        """Mean of every value, shape (n, p)."""

    @abc.abstractmethod
    def std(self) -> Outputs:
        """Standard deviation of every value, shape (n, p)."""

    @abc.abstractmethod
    def cdf(self, y: Outputs) -> Outputs:
        """Probability of a value up to y: the PIT of an observed y.

        Args:
            y: Values, shape (n, p).

        Returns:
            Probabilities, shape (n, p).
        """

    @abc.abstractmethod
    def quantile(self, q: Any) -> Array:
        """Values that are not exceeded with probability q.

        Args:
            q: Probabilities between 0 and 1, of any shape.

        Returns:
            Shape (*q.shape, n, p).
        """

    @abc.abstractmethod
    def log_prob(self, y: Outputs) -> Outputs:
        """Log-density of every value by itself.

        Args:
            y: Values, shape (n, p).

        Returns:
            Nats, shape (n, p).

        Raises:
            ValueError: If there are only samples.
        """

    def interval(self, tail: float) -> Array:
        """Ends (2, n, p) of the central intervals with probability `tail` outside of them."""
        return self.quantile(np.array([tail / 2, 1 - tail / 2]))


def levels(q: Any, dtype: Any) -> Array:
    """Probability levels as an array.

    Args:
        q: Probabilities, of any shape.
        dtype: Dtype of the array.

    Raises:
        ValueError: If one is not between 0 and 1.
    """
    if _validation.concrete(q):
        values = _validation.as_array("q", q)
        if values.dtype.kind not in "fiu" or not ((values >= 0) & (values <= 1)).all():
            raise ValueError(f"expected probabilities 0 <= q <= 1, got {_validation.brief(q)}")
    return jnp.asarray(q, dtype)


class NormalMarginals(AbstractMarginals):
    """Normal values.

    Args:
        location: Means, shape (n, p).
        scale: Standard deviations, shape (n, p).
    """

    location: Outputs
    scale: Outputs

    def mean(self):
        return self.location

    def std(self):
        return self.scale

    def cdf(self, y):
        return jax.scipy.stats.norm.cdf(y, self.location, self.scale)

    def quantile(self, q):
        z = jax.scipy.special.ndtri(levels(q, self.location.dtype))[..., None, None]
        shape = (*z.shape[:-2], *self.location.shape)
        location, scale = (jnp.broadcast_to(v, shape) for v in (self.location, self.scale))
        return location + scale * jnp.broadcast_to(z, shape)

    def log_prob(self, y):
        return jax.scipy.stats.norm.logpdf(y, self.location, self.scale)


class SampleMarginals(AbstractMarginals):
    """Laws known from samples only.

    Args:
        samples: Shape (s, n, p).
    """

    samples: Float[Array, "s n p"]
    exact: ClassVar[bool] = False

    def mean(self):
        with keep_float64(self.samples):
            return jnp.mean(self.samples, axis=0)

    def std(self):
        self._check_count("a standard deviation")
        with keep_float64(self.samples):
            return jnp.std(self.samples, axis=0, ddof=1)

    def cdf(self, y):
        """Share of samples below y, with y itself as one more: never 0 or 1."""
        with keep_float64(self.samples, y):
            below = jnp.sum((self.samples <= y[None]).astype(y.dtype), axis=0)
            return (below + 0.5) / (len(self.samples) + 1)

    def quantile(self, q):
        with keep_float64(self.samples):
            level = levels(q, self.samples.dtype)
            values = jnp.quantile(self.samples, level.reshape(-1), axis=0)
            return values.reshape(*level.shape, *values.shape[1:])

    def interval(self, tail):
        """Ends by ranks i / (s + 1), as those of `evaluate.pit`; beyond all by normal tails."""
        count = self._check_count("an interval")
        if tail / 2 * (count + 1) >= 1:
            low = (tail / 2 * (count + 1) - 1) / (count - 1)
            return self.quantile(np.array([low, 1 - low]))
        with keep_float64(self.samples):
            beyond = float(ndtri(1 / (count + 1)) - ndtri(tail / 2)) * self.std()
            ends = jnp.min(self.samples, axis=0) - beyond, jnp.max(self.samples, axis=0) + beyond
            return jnp.stack(ends)

    def log_prob(self, y):
        raise ValueError("expected a closed form for marginal densities, got samples")

    def _check_count(self, what: str) -> int:
        if (count := len(self.samples)) < 2:
            raise ValueError(f"expected at least 2 samples for {what}, got {count}")
        return count


class MixtureMarginals(AbstractMarginals):
    r"""Values of a mixture, $\sum_k w_k p_k$.

    Args:
        members: Laws of the same values.
        log_weights: Logarithms of the weights, which sum to one, shape (members,).
    """

    members: tuple[AbstractMarginals, ...]
    log_weights: Float[Array, " k"]

    def _average(self, values: list[Outputs]) -> Outputs:
        with keep_float64(*values):
            # Normalised in the values' dtype: what sums to one in float32 moves values near 1e8.
            weights = jax.nn.softmax(self.log_weights.astype(values[0].dtype))
            return jnp.sum(weights[:, None, None] * jnp.stack(values), axis=0)

    def mean(self):
        return self._average([member.mean() for member in self.members])

    def std(self):
        mean = self.mean()
        with keep_float64(mean):
            squares = [(m.mean() - mean) ** 2 + m.std() ** 2 for m in self.members]
            return jnp.sqrt(self._average(squares))

    def cdf(self, y):
        return self._average([member.cdf(y) for member in self.members])

    def log_prob(self, y):
        log_probs = jnp.stack([member.log_prob(y) for member in self.members])
        log_weights = self.log_weights.astype(log_probs.dtype)[:, None, None]
        return jax.scipy.special.logsumexp(log_probs + log_weights, axis=0)

    def quantile(self, q):
        """By bisection: the quantile lies between those of the members."""
        mean = self.members[0].mean()
        with keep_float64(mean):
            return self._quantile(levels(q, mean.dtype))

    def _quantile(self, q: Array) -> Array:
        ends = jnp.stack([member.quantile(q.reshape(-1)) for member in self.members])
        return bisected_quantiles(self.cdf, ends, q)


__all__ = [
    "AbstractMarginals",
    "MixtureMarginals",
    "NormalMarginals",
    "SampleMarginals",
    "levels",
]
