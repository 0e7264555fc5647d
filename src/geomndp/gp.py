r"""Exact Gaussian processes, the oracle against which everything else is verified.

All laws are those of observed values y = f + noise, as are those of a model: `GP(k, noise=s)` has
covariance k + s I at distinct rows.
"""

from __future__ import annotations

import abc

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _validation, linalg
from geomndp._types import Array, Float, Inputs, Mask, Outputs, PerPoint, PRNGKeyArray, Scalar
from geomndp.kernels import AbstractKernel
from geomndp.kernels.base import Constant, Mean, mean_values
from geomndp.linalg import AbstractGram, Conditioning, MatrixGram, variances, zero_masked
from geomndp.marginals import NormalMarginals
from geomndp.predictive import AbstractPredictive, AbstractProcess, LogProb, exact_log_prob

__all__ = ["GP", "AbstractGP", "ConditionedGP", "Constant", "Mean", "mean_values", "variances"]


class AbstractGP(AbstractProcess, AbstractPredictive):
    """A Gaussian law of function values at any inputs, which can be conditioned (further)."""

    @property
    @abc.abstractmethod
    def dim(self) -> int:
        """Number of outputs."""

    @abc.abstractmethod
    def mean_at(self, x: Inputs) -> Outputs:
        """Mean of y.

        Args:
            x: Inputs, shape (n, d).

        Returns:
            Shape (n, p).
        """

    @abc.abstractmethod
    def gram(self, x: Inputs, mask: Mask | None = None) -> AbstractGram:
        """Covariance of y, noise included.

        Args:
            x: Inputs, shape (n, d).
            mask: 1 for real rows, 0 for padding, shape (n,); or per value, (n, p).

        Returns:
            Operator on (n, p) arrays.
        """

    def sample(self, x: Inputs, *, key: PRNGKeyArray, num_samples: int | None = None) -> Array:
        """Draw functions.

        Args:
            x: Inputs, shape (n, d).
            key: Random key.
            num_samples: Number s of draws.

        Returns:
            Samples of shape (s, n, p), or one of shape (n, p) without `num_samples`.
        """
        x, _, _ = _validation.float_function(x, dim=self.dim)
        if num_samples is None:
            return self.sample(x, key=key, num_samples=1)[0]
        _validation.at_least(0, num_samples=num_samples)
        shape = (num_samples, len(x), self.dim)
        return self.colour(x, jr.normal(_validation.as_key(key), shape, dtype=x.dtype))

    def colour(self, x: Inputs, z: Array) -> Array:
        """Functions (s, n, p) at inputs (n, d) from normal z (s, n, p); one factor serves all."""
        return self.mean_at(x)[None] + jax.vmap(self.gram(x).cholesky_mv)(z)

    def log_prob(  # pyright: ignore[reportIncompatibleMethodOverride] # mask by position too
        self,
        x: Inputs,
        y: Outputs,
        mask: Mask | None = None,
        *,
        key: PRNGKeyArray | None = None,
    ) -> Scalar:
        """Joint log-density of values, exact, in nats over the unmasked ones; no key is needed.

        The mask is (n,), 1 for real rows and 0 for padding, or (n, p) per value.
        """
        x, y, mask = _validation.float_function(x, y, dim=self.dim, mask=mask)
        x = zero_masked(x, linalg.row_mask(mask))
        return self.gram(x, mask).log_density(y - self.mean_at(x), mask)

    def log_prob_info(
        self,
        x: Inputs,
        y: Outputs,
        *,
        key: PRNGKeyArray | None = None,
        mask: Mask | None = None,
    ) -> LogProb:
        """Joint log-density of values as by `log_prob`, with its errors, which are zero."""
        return exact_log_prob(self.log_prob(x, y, mask, key=key))

    @property
    def exact_marginals(self) -> bool:
        return True

    def marginals(self, x: Inputs, *, key=None, num_samples: int = 0) -> NormalMarginals:
        """Normal laws of y at inputs (n, d), noise included; exact."""
        x, _, _ = _validation.float_function(x, dim=self.dim)
        moments = linalg.by_blocks(lambda x: (self.mean_at(x), self.gram(x).diagonal()), x)
        return NormalMarginals(moments[0], jnp.sqrt(moments[1]))

    def mean_and_covariance(self, x: Inputs) -> tuple[Outputs, Float[Array, "np np"]]:
        """Mean (n, p), and covariance (n p, n p) on flattened (point, output) indices."""
        return self.mean_at(x := _validation.as_float("x", x)), self.gram(x).dense()


class GP(AbstractGP):
    """Gaussian process prior.

    Args:
        kernel: Covariance of the function.
        mean: Mean function, from inputs (n, d) to (n, p); None is zero.
        noise: Variance of independent noise, one for all values or one per output.

    Raises:
        ValueError: If a variance is negative, or there are not as many as outputs.

    Example:
        ```python
        gp = gn.gp.GP(gn.kernels.Matern52(0.25), noise=0.05**2)
        posterior = gp.condition(xc, yc)
        mean, std = posterior.mean_and_std(x)
        posterior.log_prob(x, y)  # nats
        ```
    """

    kernel: AbstractKernel
    mean: Mean | None = None  # pyright: ignore[reportIncompatibleMethodOverride]
    noise: float | tuple[float, ...] = 0.0

    def __check_init__(self):
        _validation.not_negative(noise=self.noise)
        given = len(self.noise) if isinstance(self.noise, tuple) else np.shape(self.noise)
        if given not in ((), (1,), self.dim):
            raise ValueError(f"expected one noise variance or a tuple of {self.dim}, got {given}")

    @property
    def dim(self) -> int:
        return self.kernel.dim

    def mean_at(self, x):
        return mean_values(self.mean, x, self.dim)

    def gram(self, x, mask=None):
        noise = self.noise
        if isinstance(noise, tuple):
            noise = jnp.broadcast_to(jnp.asarray([noise], dtype=x.dtype), (len(x), self.dim))
        return self.kernel.gram(x).add_diagonal(variances(noise, x)).masked(mask)

    def condition(
        self, x: Inputs, y: Outputs, noise=0.0, mask: Mask | None = None
    ) -> ConditionedGP:
        """Law of new values given observed ones.

        Args:
            x: Context inputs, shape (n, d); n = 0 gives the prior.
            y: Observed values, shape (n, p).
            noise: Variance of further errors of y, one for all, one per point (n,), or per value
                (n, p).
            mask: 1 for real rows, 0 for padding, shape (n,); or per value, (n, p).

        Returns:
            The posterior, itself a Gaussian process.

        Raises:
            ValueError: If shapes do not fit, values are not finite or a variance is negative.
        """
        x, y, mask = _validation.float_function(x, y, dim=self.dim, mask=mask)
        _validation.not_negative(noise=noise)
        x = zero_masked(x, linalg.row_mask(mask))
        return ConditionedGP(self, x, y, variances(noise, x), mask)


class ConditionedGP(AbstractGP):
    r"""Posterior: mean m + C Kcc^-1 (y - m_c), covariance K - C Kcc^-1 C^T, C = k(., x_c).

    Made by `GP.condition`.
    """

    prior: GP
    x: Inputs
    y: Outputs
    noise: PerPoint
    mask: Mask | None

    @property
    def dim(self) -> int:
        return self.prior.dim

    def _observed(self) -> AbstractGram:
        return self.prior.gram(self.x).add_diagonal(self.noise).masked(self.mask)

    def _conditioning(self, observed: MatrixGram, x: Inputs) -> Conditioning:
        cross = self.prior.kernel.cross(x, self.x)
        if self.prior.kernel.shared and not observed.shared:
            cross = linalg.per_output(cross, self.dim)
        if self.mask is not None:
            copies = cross.shape[1] // len(self.x)
            keep = jnp.broadcast_to(linalg.columns(self.mask, self.dim), (len(self.x), copies)) > 0
            cross = jnp.where(keep.reshape(1, -1), cross, 0.0)
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
        """Add more observations; arguments as those of `GP.condition`."""
        x, y, mask = _validation.float_function(x, y, dim=self.dim, mask=mask)
        _validation.not_negative(noise=noise)
        return ConditionedGP(
            self.prior,
            jnp.concatenate([self.x, zero_masked(x, linalg.row_mask(mask))]),
            jnp.concatenate([self.y, y]),
            linalg.join_per_point(self.noise, variances(noise, x)),
            linalg.join_masks(self.mask, mask, len(self.x), len(x), x.dtype),
        )
