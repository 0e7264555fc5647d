r"""Gaussian processes: the oracle against which everything else is proved.

Everything speaks of observed values y = f + noise, so that the law of a process is that of what
a model calls y: `GP(k, noise=s)` has covariance k + s I at distinct rows.
"""

from __future__ import annotations

import abc
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp import _registry, _validation
from geomndp._types import Array, Float, Inputs, Mask, Outputs, PRNGKeyArray, Scalar
from geomndp.kernels import AbstractKernel
from geomndp.linalg import (
    AbstractGram,
    Conditioning,
    MatrixGram,
    join_masks,
    zero_masked,
)
from geomndp.predictive import AbstractPredictive, AbstractProcess, LogProb, exact_log_prob

Mean = Callable[[Inputs], Outputs]


@_registry.tagged("mean/constant")
class Constant(eqx.Module):
    """The mean function that is the same everywhere, for every output."""

    value: float
    dim: int = eqx.field(default=1, static=True)

    def __check_init__(self):
        _validation.at_least(1, dim=self.dim)

    def __call__(self, x: Inputs) -> Outputs:
        return jnp.full((len(x), self.dim), self.value, dtype=x.dtype)


def mean_values(mean: Mean | None, x: Inputs, dim: int) -> Outputs:
    """Mean function at x; None is zero."""
    if mean is None:
        return jnp.zeros((len(x), dim), dtype=x.dtype)
    values = mean(x)
    _validation.shape("the values of the mean function", values, (len(x), dim))
    return values


def variances(noise, x: Inputs) -> Float[Array, " n"]:
    """Noise variances, one a point, from one number or one a point."""
    return jnp.broadcast_to(jnp.asarray(noise, dtype=x.dtype), (len(x),))


class AbstractGP(AbstractProcess, AbstractPredictive):
    """A Gaussian law of function values at any inputs, which can be conditioned (further)."""

    @property
    @abc.abstractmethod
    def dim(self) -> int:
        """Number of outputs."""

    @abc.abstractmethod
    def mean_at(self, x: Inputs) -> Outputs:
        """Mean of y at x."""

    @abc.abstractmethod
    def gram(self, x: Inputs, mask: Mask | None = None) -> AbstractGram:
        """Covariance of y at x, noise included."""

    def sample(self, x: Inputs, *, key: PRNGKeyArray, num_samples: int | None = None) -> Array:
        """Draw (n, p), or (num_samples, n, p)."""
        _validation.function(x, dim=self.dim)
        if num_samples is None:
            return self.sample(x, key=key, num_samples=1)[0]
        _validation.at_least(0, num_samples=num_samples)
        z = jr.normal(key, (num_samples, len(x), self.dim), dtype=x.dtype)
        # The factor does not depend on z, so that one factorisation serves all samples.
        return self.mean_at(x)[None] + jax.vmap(self.gram(x).cholesky_mv)(z)

    def log_prob(
        self,
        x: Inputs,
        y: Outputs,
        mask: Mask | None = None,
        *,
        key: PRNGKeyArray | None = None,
    ) -> Scalar:
        """Joint log-density of the unmasked rows, in nats; exact, with or without a key."""
        _validation.function(x, y, dim=self.dim, mask=mask)
        x = zero_masked(x, mask)
        return self.gram(x, mask).log_density(y - self.mean_at(x), mask)

    def log_prob_info(
        self,
        x: Inputs,
        y: Outputs,
        *,
        key: PRNGKeyArray | None = None,
        mask: Mask | None = None,
    ) -> LogProb:
        """The same with its errors, which are zero."""
        return exact_log_prob(self.log_prob(x, y, mask, key=key))

    def mean_and_std(
        self, x: Inputs, *, key: PRNGKeyArray | None = None
    ) -> tuple[Outputs, Outputs]:
        """Mean and standard deviation (n, p) of y at x, noise included; exact."""
        _validation.function(x, dim=self.dim)
        return self.mean_at(x), jnp.sqrt(self.gram(x).diagonal())

    def mean_and_covariance(self, x: Inputs) -> tuple[Outputs, Float[Array, "np np"]]:
        """Mean (n, p) and covariance on flattened (point, output) indices."""
        return self.mean_at(x), self.gram(x).dense()


class GP(AbstractGP):
    """Process with a kernel, a mean function (None is zero) and a noise variance."""

    kernel: AbstractKernel
    mean: Mean | None = None
    noise: float = 0.0

    def __check_init__(self):
        _validation.not_negative(noise=self.noise)

    @property
    def dim(self) -> int:
        return self.kernel.dim

    def mean_at(self, x):
        return mean_values(self.mean, x, self.dim)

    def gram(self, x, mask=None):
        return self.kernel.gram(x).add_diagonal(variances(self.noise, x)).masked(mask)

    def condition(
        self, x: Inputs, y: Outputs, noise=0.0, mask: Mask | None = None
    ) -> ConditionedGP:
        """Law of new values given those at x, seen with a further `noise` variance."""
        _validation.function(x, y, dim=self.dim, mask=mask)
        _validation.not_negative(noise=noise)
        return ConditionedGP(self, zero_masked(x, mask), y, variances(noise, x), mask)


class ConditionedGP(AbstractGP):
    r"""Posterior: mean m + C Kcc^-1 (y - m_c), covariance K - C Kcc^-1 C^T, C = k(., x_c)."""

    prior: GP
    x: Inputs
    y: Outputs
    noise: Float[Array, " n"]
    mask: Mask | None

    @property
    def dim(self) -> int:
        return self.prior.dim

    def _observed(self) -> AbstractGram:
        return self.prior.gram(self.x).add_diagonal(self.noise).masked(self.mask)

    def _conditioning(self, observed: MatrixGram, x: Inputs) -> Conditioning:
        cross = self.prior.kernel.cross(x, self.x)
        if self.mask is not None:
            keep = jnp.repeat(self.mask, cross.shape[1] // len(self.x)) > 0
            cross = jnp.where(keep[None, :], cross, 0.0)
        return Conditioning(observed.cholesky(), cross.T)

    def mean_at(self, x):
        mean, observed = self.prior.mean_at(x), self._observed()
        # Nothing is learnt from no rows, nor about other rows from white noise.
        if len(self.x) == 0 or not isinstance(observed, MatrixGram):
            return mean
        residual = zero_masked(self.y - self.prior.mean_at(self.x), self.mask)
        columns = residual if observed.shared else residual.reshape(-1, 1)
        return mean + self._conditioning(observed, x).mean(columns).reshape(mean.shape)

    def gram(self, x, mask=None):
        observed, gram = self._observed(), self.prior.gram(x)
        if len(self.x) == 0 or not isinstance(observed, MatrixGram):
            return gram.masked(mask)
        reduction = self._conditioning(observed, x).reduction()
        reduction = MatrixGram(-reduction, self.dim, observed.shared)
        # What is left may be less than the rounding of what was taken away.
        rounding = observed.jitter() * jnp.max(gram.diagonal(), axis=1)
        return (gram + reduction).add_diagonal(rounding).masked(mask)

    def condition(
        self, x: Inputs, y: Outputs, noise=0.0, mask: Mask | None = None
    ) -> ConditionedGP:
        """Add more observations."""
        _validation.function(x, y, dim=self.dim, mask=mask)
        _validation.not_negative(noise=noise)
        return ConditionedGP(
            self.prior,
            jnp.concatenate([self.x, zero_masked(x, mask)]),
            jnp.concatenate([self.y, y]),
            jnp.concatenate([self.noise, variances(noise, x)]),
            join_masks(self.mask, mask, len(self.x), len(x), x.dtype),
        )
