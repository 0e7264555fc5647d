"""What every neural process is: a law of target values given a context, and how it is trained."""

from __future__ import annotations

import abc
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from geomndp import _validation
from geomndp._types import Array, Float, Inputs, Mask, Outputs, PRNGKeyArray, Scalar
from geomndp.baselines.neural_processes.predictions import AbstractPrediction
from geomndp.linalg import zero_masked
from geomndp.marginals import AbstractMarginals
from geomndp.predictive import MOMENT_SAMPLES, AbstractPredictive, AbstractProcess, LogProb


class AbstractNeuralProcess(AbstractProcess):
    """Map from a context and target inputs to a law of the target values.

    All arrays are in the model's units and of the process's `dtype`. Any number of context points
    and of targets is allowed, none included; masked rows change nothing, whatever they hold.
    """

    joint: ClassVar[bool] = False
    """Whether targets depend on each other; samples of a factorised law are independent."""
    needs_key: ClassVar[bool] = False
    """Whether a law is an estimate by random numbers, as with a latent variable."""
    learnt: ClassVar[bool] = True
    """Whether requests far from the training functions are beyond what it knows."""

    @property
    @abc.abstractmethod
    def input_dim(self) -> int:
        """Number of input coordinates d."""

    @property
    def num_relative_inputs(self) -> int:
        """How many leading columns of x enter through their differences only."""
        return 0

    @property
    @abc.abstractmethod
    def dim(self) -> int:
        """Number of outputs p."""

    @property
    @abc.abstractmethod
    def dtype(self) -> Any:
        """Floating-point type in which the process computes."""

    @abc.abstractmethod
    def predict(
        self,
        xc: Float[Array, "c d"],
        yc: Float[Array, "c p"],
        context_mask: Float[Array, " c"],
        x: Inputs,
        mask: Float[Array, " n"],
        *,
        key: PRNGKeyArray | None = None,
    ) -> AbstractPrediction:
        """Law of the target values.

        Args:
            xc: Context inputs, shape (c, d).
            yc: Context values, shape (c, p).
            context_mask: 1 for real context points, 0 for padding, shape (c,).
            x: Target inputs, shape (n, d).
            mask: 1 for real targets, 0 for padding, shape (n,).
            key: Random key, where the process has a latent variable or an order.

        Returns:
            The law.
        """

    def training_loss(
        self,
        xc: Float[Array, "c d"],
        yc: Float[Array, "c p"],
        context_mask: Float[Array, " c"],
        x: Inputs,
        y: Outputs,
        mask: Float[Array, " n"],
        *,
        key: PRNGKeyArray,
    ) -> Scalar:
        """Loss of one function: here the negative log-density per target.

        Args:
            xc: Context inputs, shape (c, d).
            yc: Context values, shape (c, p).
            context_mask: 1 for real context points, shape (c,).
            x: Target inputs, shape (n, d).
            y: Target values, shape (n, p).
            mask: 1 for real targets, shape (n,).
            key: Random key.

        Returns:
            Nats per target, zero without targets.
        """
        law = self.predict(xc, yc, context_mask, x, mask, key=key)
        return -law.log_prob(y, mask) / jnp.maximum(jnp.sum(mask), 1.0)

    def with_room(self, *point_sets: Any) -> Any:
        """The process with the same parameters and room for points, where it has a grid.

        Args:
            *point_sets: Concrete inputs (n, d) in the model's units, without padding.

        Returns:
            A process that may be asked at all of them; here itself.
        """
        return self

    def function_loss(
        self,
        x: Inputs,
        y: Outputs,
        context: Float[Array, " n"],
        targets: Float[Array, " n"],
        *,
        key: PRNGKeyArray,
    ) -> Scalar:
        """Loss of one function whose points are marked as context or targets.

        Args:
            x: Inputs, shape (n, d).
            y: Values, shape (n, p).
            context: 1 for context points, shape (n,).
            targets: 1 for targets, shape (n,); padding is neither.
            key: Random key.

        Returns:
            That of `training_loss`.
        """
        return self.training_loss(x, y, context, x, y, targets, key=key)

    def condition(
        self, x: Inputs, y: Outputs, noise: Any = 0.0, mask: Mask | None = None
    ) -> NeuralPredictive:
        """Law of new values given observed ones.

        Args:
            x: Context inputs, shape (n, d); n = 0 gives the prior.
            y: Observed values, shape (n, p).
            noise: Zero: the noise of the training functions is part of what was learnt.
            mask: 1 for real rows, 0 for padding, shape (n,).

        Returns:
            The predictive law.

        Raises:
            ValueError: If there is noise, outputs are masked apart, or shapes do not fit.
        """
        if not _validation.concrete(noise) or np.any(np.asarray(noise) != 0):
            got = _validation.brief(noise)
            raise ValueError(f"expected noise 0 for a neural process, which learns it, got {got}")
        if mask is not None and mask.ndim != 1:
            raise ValueError(f"expected a mask of shape (n,), got shape {mask.shape}")
        _validation.function(x, y, dim=self.dim, mask=mask)
        _validation.shape("x", x, (len(x), self.input_dim))
        mask = jnp.ones(len(x), self.dtype) if mask is None else mask.astype(self.dtype)
        xc, yc = (zero_masked(v.astype(self.dtype), mask) for v in (x, y))
        return NeuralPredictive(self, xc, yc, mask)


class NeuralPredictive(AbstractPredictive):
    """Law of a neural process given a context, made by `AbstractNeuralProcess.condition`.

    It is computed in the dtype of the process and returned in that of the inputs.

    Attributes:
        process: The neural process.
        x: Context inputs, shape (c, d).
        y: Context values, shape (c, p).
        mask: 1 for real context points, shape (c,).
    """

    process: AbstractNeuralProcess
    x: Float[Array, "c d"]
    y: Float[Array, "c p"]
    mask: Float[Array, " c"]

    def predict(
        self, x: Inputs, mask: Mask | None = None, *, key: PRNGKeyArray | None = None
    ) -> AbstractPrediction:
        """Law of the values at fixed targets.

        Args:
            x: Inputs, shape (n, d).
            mask: 1 for real targets, 0 for padding, shape (n,).
            key: Random key of a latent variable or of an order.

        Returns:
            The law, in the dtype of the process.

        Raises:
            ValueError: If the inputs do not fit, or a key is missing.
        """
        process = self.process
        _validation.function(x, dim=process.dim, mask=mask)
        _validation.shape("x", x, (len(x), process.input_dim))
        if process.needs_key and key is None:
            name = type(process).__name__
            raise ValueError(f"expected a key for the latent variable of {name}, got None")
        mask = jnp.ones(len(x), process.dtype) if mask is None else mask.astype(process.dtype)
        x = zero_masked(x.astype(process.dtype), mask)
        if all(map(_validation.concrete, (x, mask, self.x, self.mask))):
            both = (self.x, self.mask), (x, mask)
            process = process.with_room(*(np.asarray(v)[np.asarray(m) > 0] for v, m in both))
        return process.predict(self.x, self.y, self.mask, x, mask, key=key)

    def sample(self, x: Inputs, *, key: PRNGKeyArray, num_samples: int) -> Array:
        law_key, sample_key = jax.random.split(key)
        law = self.predict(x, key=law_key)
        return law.sample(key=sample_key, num_samples=num_samples).astype(x.dtype)

    def log_prob_info(
        self,
        x: Inputs,
        y: Outputs,
        *,
        key: PRNGKeyArray | None = None,
        mask: Mask | None = None,
    ) -> LogProb:
        _validation.function(x, y, dim=self.process.dim, mask=mask)
        law = self.predict(x, mask, key=key)
        value, *errors, evaluations = law.log_prob_info(y.astype(self.process.dtype), mask)
        solver_error, probe_error = (error.astype(y.dtype) for error in errors)
        return LogProb(value.astype(y.dtype), solver_error, probe_error, evaluations)

    def marginal_log_prob(
        self, x: Inputs, y: Outputs, *, key: PRNGKeyArray | None = None
    ) -> Float[Array, " n"]:
        """Log-density of every target by itself given the context.

        Args:
            x: Inputs, shape (n, d).
            y: Values, shape (n, p).
            key: Random key of a latent variable.

        Returns:
            Nats, shape (n,).
        """
        _validation.function(x, y, dim=self.process.dim)
        law = self.predict(x, key=key)
        return law.marginal_log_prob(y.astype(self.process.dtype)).astype(y.dtype)

    @property
    def exact_marginals(self) -> bool:
        return not self.process.needs_key

    def marginals(
        self, x: Inputs, *, key: PRNGKeyArray | None = None, num_samples: int = MOMENT_SAMPLES
    ) -> AbstractMarginals:
        marginals = self.predict(x, key=key).marginals()
        return jax.tree.map(lambda v: v.astype(x.dtype), marginals)


__all__ = ["AbstractNeuralProcess", "NeuralPredictive"]
