"""The one protocol of everything that predicts: a process is conditioned, a predictive law asked.

Exact Gaussian processes, trained models and simple forecasts answer the same calls, so that every
measurement is written once.
"""

from __future__ import annotations

import abc
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp

from geomndp._types import Array, Inputs, Int, Mask, Outputs, PRNGKeyArray, Scalar
from geomndp.marginals import AbstractMarginals, SampleMarginals

MOMENT_SAMPLES = 256
"""Samples from which mean and standard deviation are estimated where they are not known."""


class LogProb(NamedTuple):
    """A log-density in nats with the errors of its computation, zero for exact laws.

    Attributes:
        value: Log-density; NaN or infinite if a solve failed.
        solver_error: Estimated error of the solve, from a second one on a coarser time grid.
        probe_error: Standard error from random probes: 0 for an exact divergence, infinite for
            one probe.
        evaluations: Score evaluations of both solves together, each with its directional
            derivatives.
    """

    value: Scalar
    solver_error: Scalar
    probe_error: Scalar
    evaluations: Int[Array, ""]


def exact_log_prob(value: Scalar) -> LogProb:
    """A log-density of a closed form: no errors, no score evaluations.

    Args:
        value: Nats.

    Returns:
        The value with zeros for errors and evaluations.
    """
    zero = jnp.zeros_like(value)
    return LogProb(value, zero, zero, jnp.zeros(jnp.shape(value), jnp.int32))


class AbstractPredictive(eqx.Module):
    """Joint law of function values at any inputs, usually given observations.

    All methods are pure in arrays, and work under `jax.jit` and `jax.vmap`. A subclass writes
    `sample` and `log_prob_info`; `mean_and_std` where it is known exactly.
    """

    @abc.abstractmethod
    def sample(self, x: Inputs, *, key: PRNGKeyArray, num_samples: int) -> Array:
        """Draw functions.

        Args:
            x: Inputs, shape (n, d).
            key: Random key.
            num_samples: Number s of draws.

        Returns:
            Samples of shape (s, n, p), jointly over the n inputs.
        """

    @abc.abstractmethod
    def log_prob_info(
        self,
        x: Inputs,
        y: Outputs,
        *,
        key: PRNGKeyArray | None = None,
        mask: Mask | None = None,
    ) -> LogProb:
        """Joint log-density of values with the errors of its computation.

        Args:
            x: Inputs, shape (n, d).
            y: Values, shape (n, p).
            key: Random key of a stochastic estimate; None asks for the exact one.
            mask: 1 for real rows, 0 for padding, shape (n,).

        Returns:
            Nats, in the units of y, over the unmasked rows.
        """

    def log_prob(
        self,
        x: Inputs,
        y: Outputs,
        *,
        key: PRNGKeyArray | None = None,
        mask: Mask | None = None,
    ) -> Scalar:
        """Joint log-density of values in nats; arguments as those of `log_prob_info`."""
        return self.log_prob_info(x, y, key=key, mask=mask).value

    def mean_and_std(
        self, x: Inputs, *, key: PRNGKeyArray | None = None
    ) -> tuple[Outputs, Outputs]:
        """Mean and standard deviation of every value, noise included.

        Args:
            x: Inputs, shape (n, d).
            key: Random key, needed where the moments are estimated from samples.

        Returns:
            Two arrays of shape (n, p).

        Raises:
            ValueError: If the moments are not known exactly and there is no key.
        """
        marginals = self.marginals(x, key=key)
        return marginals.mean(), marginals.std()

    @property
    def exact_marginals(self) -> bool:
        """Whether `marginals` has a closed form, and needs no key."""
        return False

    def marginals(
        self, x: Any, *, key: Any = None, num_samples: int = MOMENT_SAMPLES
    ) -> AbstractMarginals:
        """Law of every value by itself, noise included: mean, std, quantiles, cdf.

        Args:
            x: Inputs, shape (n, d).
            key: Random key, needed where there is no closed form.
            num_samples: Number of samples that stand for the law then.

        Returns:
            Laws of the n p values.

        Raises:
            ValueError: If there is no closed form and no key.
        """
        if key is None:
            name = type(self).__name__
            raise ValueError(f"expected a key to estimate the moments of {name}, got None")
        return SampleMarginals(self.sample(x, key=key, num_samples=num_samples))

    def mean(self, x: Any, *, key: Any = None) -> Any:
        """Mean of every value, noise included.

        Args:
            x: Inputs, shape (n, d); a table where `sample` takes tables.
            key: Random key, needed where there is no closed form.

        Returns:
            Shape (n, p), or a table at the locations of a table.
        """
        return self.marginals(x, key=key).mean()

    def std(self, x: Any, *, key: Any = None) -> Any:
        """Standard deviation of every value, noise included; arguments as those of `mean`."""
        return self.marginals(x, key=key).std()

    def quantile(
        self, q: Any, x: Any, *, key: Any = None, num_samples: int = MOMENT_SAMPLES
    ) -> Any:
        """Quantiles of every value, noise included.

        Args:
            q: Probability level, or several.
            x: Inputs, shape (n, d); a table where `sample` takes tables.
            key: Random key, needed where there is no closed form.
            num_samples: Number of samples that stand for the law then.

        Returns:
            Shape (n, p) for one level, (levels, n, p) for several, or a table at the locations of
            a table.

        Example:
            `low, high = law.quantile([0.05, 0.95], x)`
        """
        return self.marginals(x, key=key, num_samples=num_samples).quantile(q)


class AbstractProcess(eqx.Module):
    """A law of functions that can be conditioned on observed values.

    Example:
        ```python
        process = gn.gp.GP(gn.kernels.SquaredExponential(0.25), noise=0.01)  # or gn.load(...)
        law = process.condition(xc, yc)
        samples = law.sample(x, key=key, num_samples=16)
        nats = law.log_prob(x, y)
        ```
    """

    @abc.abstractmethod
    def condition(
        self, x: Inputs, y: Outputs, noise: Any = 0.0, mask: Mask | None = None
    ) -> AbstractPredictive:
        """Law of new values given observed ones.

        Args:
            x: Context inputs, shape (n, d); n = 0 gives the prior.
            y: Observed values, shape (n, p).
            noise: Variance of further observation noise, one number or one per row.
            mask: 1 for real rows, 0 for padding, shape (n,).

        Returns:
            The predictive law.
        """


__all__ = ["AbstractPredictive", "AbstractProcess", "LogProb", "exact_log_prob"]
