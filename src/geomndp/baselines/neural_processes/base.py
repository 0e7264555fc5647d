"""What every neural process is: a law of target values given a context, and how it is trained."""

from __future__ import annotations

import abc
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np

from geomndp import _validation
from geomndp._types import Array, Float, Inputs, Mask, Outputs, PRNGKeyArray, Scalar
from geomndp.baselines.neural_processes.predictions import AbstractPrediction
from geomndp.linalg import zero_masked
from geomndp.predictive import AbstractPredictive, AbstractProcess


class AbstractNeuralProcess(AbstractProcess):
    """Map from a context and target inputs to a law of the target values.

    All arrays are in the model's units and of the process's `dtype`. Any number of context points
    and of targets is allowed, none included; masked rows change nothing, whatever they hold.
    """

    joint: ClassVar[bool] = False
    """Whether targets depend on each other; samples of a factorised law are independent."""
    needs_key: ClassVar[bool] = False
    """Whether a law is an estimate by random numbers, as with a latent variable."""
    sampled_marginals: ClassVar[bool] = False
    """Whether marginal laws are known from samples alone, and need a key."""
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
    def shift_step(self) -> float:
        """A common shift of these by multiples of it changes nothing, in the model's units."""
        return 1.0

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
    ) -> AbstractPredictive:
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
        known = _validation.concrete(noise)
        if not known or np.any(np.asarray(noise) != 0):
            got = _validation.brief(noise) if known else "variances"
            raise ValueError(f"expected noise 0 for a neural process, which learns it, got {got}")
        check_whole_points(mask)
        _validation.function(x, y, dim=self.dim, mask=mask)
        _validation.shape("x", x, (len(x), self.input_dim))
        mask = jnp.ones(len(x), self.dtype) if mask is None else mask.astype(self.dtype)
        xc, yc = zero_masked(x, mask), zero_masked(y.astype(self.dtype), mask)
        from geomndp.baselines.neural_processes.neural_predictive import NeuralPredictive  # of it

        return NeuralPredictive(self, xc, yc, mask)


def check_whole_points(mask: Any) -> None:
    """Raise ValueError for a mask of single outputs, shape (n, p): points are there or not."""
    if mask is not None and mask.ndim != 1:
        raise ValueError(
            "expected points that have all outputs or none for a neural process, got outputs "
            f"missing apart (a mask of shape {mask.shape}): leave such points out"
        )


__all__ = ["AbstractNeuralProcess", "check_whole_points"]
