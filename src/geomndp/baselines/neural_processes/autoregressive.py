r"""A neural process rolled out one target at a time: joint, and not Gaussian.

$$p(y_1, \dots, y_n | C) = \prod_i q(y_i | C \cup \{y_1, \dots, y_{i-1}\})$$

where q is the law that the process gives to one target (Bruinsma et al. 2023, "Autoregressive
Conditional Neural Processes"). It depends on the order of the targets unless q is consistent, as a
Gaussian process is.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp import _model_files, _validation
from geomndp._types import Array, Float, Inputs, Int, Mask, Outputs, PRNGKeyArray, Scalar
from geomndp.baselines.neural_processes.base import AbstractNeuralProcess
from geomndp.baselines.neural_processes.predictions import AbstractPrediction
from geomndp.linalg import zero_masked
from geomndp.marginals import AbstractMarginals
from geomndp.predictive import LogProb


@_model_files.tagged("process/autoregressive")
class Autoregressive(AbstractNeuralProcess):
    """Roll a neural process out one target at a time.

    Without a key targets come in the order given, with one in a random order.

    Args:
        process: Neural process without a latent variable; it is trained as it is by itself.
        block: Targets whose densities are computed at once, a matter of memory alone.

    Raises:
        ValueError: If the process has a latent variable.
    """

    process: AbstractNeuralProcess
    block: int = eqx.field(default=16, static=True)
    joint: ClassVar[bool] = True

    def __check_init__(self):
        _validation.at_least(1, block=self.block)
        if self.process.needs_key:
            got = type(self.process).__name__
            raise ValueError(f"expected a process without a latent variable, got {got}")

    def __repr__(self) -> str:
        return f"Autoregressive(joint, in the order of the targets; of {self.process!r})"

    @property
    def input_dim(self) -> int:
        return self.process.input_dim

    @property
    def num_relative_inputs(self) -> int:
        return self.process.num_relative_inputs

    @property
    def shift_step(self) -> float:
        return self.process.shift_step

    @property
    def dim(self) -> int:
        return self.process.dim

    @property
    def dtype(self) -> Any:
        return self.process.dtype

    def predict(self, xc, yc, context_mask, x, mask, *, key=None):
        order = jnp.arange(len(x)) if key is None else jr.permutation(key, len(x))
        return self.predict_in_order(xc, yc, context_mask, x, mask, order)

    def predict_in_order(
        self,
        xc: Float[Array, "c d"],
        yc: Float[Array, "c p"],
        context_mask: Float[Array, " c"],
        x: Inputs,
        mask: Float[Array, " n"],
        order: Int[Array, " n"],
    ) -> AutoregressivePrediction:
        """Law of the targets one after the other; other arguments as those of `predict`.

        Args:
            xc: Context inputs, shape (c, d).
            yc: Context values, shape (c, p).
            context_mask: 1 for real context points, shape (c,).
            x: Target inputs, shape (n, d).
            mask: 1 for real targets, shape (n,).
            order: Index of the first target, of the second, and so on: a permutation, shape (n,).

        Returns:
            The law.
        """
        context = xc, yc, context_mask
        return AutoregressivePrediction(self.process, *context, x, mask, order, self.block)

    def with_room(self, *point_sets: Any) -> Autoregressive:
        return dataclasses.replace(self, process=self.process.with_room(*point_sets))

    def training_loss(self, xc, yc, context_mask, x, y, mask, *, key):
        return self.process.training_loss(xc, yc, context_mask, x, y, mask, key=key)

    def function_loss(self, x, y, context, targets, *, key):
        return self.process.function_loss(x, y, context, targets, key=key)


class AutoregressivePrediction(AbstractPrediction):
    """Law of targets one after the other; marginals are those of the first step.

    Attributes:
        process: Law of one target.
        xc: Context inputs, shape (c, d).
        yc: Context values, shape (c, p).
        context_mask: 1 for real context points, shape (c,).
        x: Target inputs, shape (n, d).
        mask: 1 for real targets, shape (n,).
        order: Permutation of the targets, shape (n,).
        block: Targets whose densities are computed at once.
    """

    process: AbstractNeuralProcess
    xc: Float[Array, "c d"]
    yc: Float[Array, "c p"]
    context_mask: Float[Array, " c"]
    x: Inputs
    mask: Float[Array, " n"]
    order: Int[Array, " n"]
    block: int = eqx.field(static=True)

    def _one(
        self, target: Int[Array, ""], y: Outputs, known: Float[Array, " n"]
    ) -> AbstractPrediction:
        """Law of one target given the context and the `known` ones of the values y."""
        x = jnp.concatenate([self.xc, self.x])
        values = jnp.concatenate([self.yc, zero_masked(y, known)])
        mask = jnp.concatenate([self.context_mask, known])
        one = jnp.ones(1, self.mask.dtype)
        return self.process.predict(x, values, mask, self.x[target][None], one)

    def log_prob(self, y: Outputs, mask: Mask | None = None) -> Scalar:
        real = self.mask if mask is None else self.mask * mask.astype(self.mask.dtype)
        rank = jnp.argsort(self.order)
        y = zero_masked(y, real)

        def one(target: Int[Array, ""]) -> Scalar:
            known = jnp.where(rank < rank[target], real, 0.0)
            return self._one(target, y, known).log_prob(y[target][None])

        if not len(self.x):
            return jnp.zeros((), y.dtype)
        each = jax.lax.map(one, jnp.arange(len(self.x)), batch_size=min(self.block, len(self.x)))
        return jnp.sum(jnp.where(real > 0, each, 0.0))

    def log_prob_info(self, y: Outputs, mask: Mask | None = None) -> LogProb:
        """Joint log-density; one evaluation of the network per target."""
        info = super().log_prob_info(y, mask)
        return info._replace(evaluations=jnp.asarray(len(self.x), jnp.int32))

    def sample(self, *, key: PRNGKeyArray, num_samples: int) -> Float[Array, "s n p"]:
        shape = (len(self.x), self.yc.shape[1])

        def roll_out(key: PRNGKeyArray) -> Outputs:
            def step(state, given):
                (y, known), (target, key) = state, given
                value = self._one(target, y, known).sample(key=key, num_samples=1)[0, 0]
                return (y.at[target].set(value), known.at[target].set(self.mask[target])), None

            start = jnp.zeros(shape, self.yc.dtype), jnp.zeros_like(self.mask)
            keys = jr.split(key, len(self.x))
            return jax.lax.scan(step, start, (self.order, keys))[0][0]

        return jax.vmap(roll_out)(jr.split(key, num_samples))

    def _first(self) -> AbstractPrediction:
        """Law of every target as the first one."""
        return self.process.predict(self.xc, self.yc, self.context_mask, self.x, self.mask)

    def marginal_log_prob(self, y: Outputs) -> Float[Array, " n"]:
        return self._first().marginal_log_prob(y)

    def marginals(self) -> AbstractMarginals:
        return self._first().marginals()


__all__ = ["Autoregressive", "AutoregressivePrediction"]
