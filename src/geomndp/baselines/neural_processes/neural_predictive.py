"""The law of a neural process given a context, at any targets."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from geomndp import _validation
from geomndp._types import Array, Float, Inputs, Mask, Outputs, PRNGKeyArray
from geomndp.baselines.neural_processes.base import AbstractNeuralProcess, check_whole_points
from geomndp.baselines.neural_processes.predictions import AbstractPrediction
from geomndp.baselines.neural_processes.set_conv import grid_over
from geomndp.linalg import zero_masked
from geomndp.marginals import AbstractMarginals
from geomndp.predictive import MOMENT_SAMPLES, AbstractPredictive, LogProb


class NeuralPredictive(AbstractPredictive):
    """Law of a neural process given a context, made by `AbstractNeuralProcess.condition`.

    It is computed in the dtype of the process and returned in that of the inputs.

    Attributes:
        process: The neural process.
        x: Context inputs, shape (c, d), as they came: rounded beside the targets.
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
        check_whole_points(mask)
        _validation.function(x, dim=process.dim, mask=mask)
        _validation.shape("x", x, (len(x), process.input_dim))
        if process.needs_key and key is None:
            name = type(process).__name__
            raise ValueError(f"expected a key for the latent variable of {name}, got None")
        mask = jnp.ones(len(x), process.dtype) if mask is None else mask.astype(process.dtype)
        xc, x = self._rounded(zero_masked(x, mask), mask)
        if all(map(_validation.concrete, (x, mask, xc, self.mask))):
            both = (xc, self.mask), (x, mask)
            process = process.with_room(*(np.asarray(v)[np.asarray(m) > 0] for v, m in both))
        return process.predict(xc, self.y, self.mask, x, mask, key=key)

    def _rounded(self, x: Inputs, mask: Mask) -> tuple[Float[Array, "c d"], Inputs]:
        """Inputs of context and targets in the dtype of the process.

        Where that holds fewer digits, a common origin goes first, of which differences know
        nothing.
        """
        process = self.process
        wide = jnp.promote_types(self.x.dtype, x.dtype)
        given, targets = self.x.astype(wide), x.astype(wide)
        if process.num_relative_inputs and jnp.finfo(wide).eps < jnp.finfo(process.dtype).eps:
            points = (given, self.mask), (targets, mask)
            origin = grid_over(process.shift_step, 1, *points).centre
            relative = jnp.arange(process.input_dim) < process.num_relative_inputs
            origin = jnp.where(relative, origin, 0.0)[None]
            given, targets = given - origin, targets - origin
        return given.astype(process.dtype), targets.astype(process.dtype)

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
        return not (self.process.needs_key or self.process.sampled_marginals)

    def marginals(
        self, x: Inputs, *, key: PRNGKeyArray | None = None, num_samples: int = MOMENT_SAMPLES
    ) -> AbstractMarginals:
        marginals = self.predict(x, key=key).marginals()
        return jax.tree.map(lambda v: v.astype(x.dtype), marginals)


__all__ = ["NeuralPredictive"]
