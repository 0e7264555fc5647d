"""Marginal laws in the data's units from those in the model's, through transform and scale."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from geomndp._types import Array, Outputs
from geomndp.data import Normaliser
from geomndp.data.transformed_outputs import apply, inside, per_output
from geomndp.marginals import AbstractMarginals, NormalMarginals, SampleMarginals
from geomndp.model.output_units import refuse_float32

NODES = 32
"""Nodes of the Gauss-Hermite rule for moments of transformed values."""
MAX_SCORE = 5.5
"""Largest normal score at which a quantile other than that of a normal law is asked for."""


class DataMarginals(AbstractMarginals):
    r"""Laws of $y = T^{-1}(s z + m)$ for model values z; quantiles go through, moments do not.

    With a transform moments are integrals over normal scores by a Gauss-Hermite rule of 32 nodes.

    Args:
        base: Laws of the model's values, in float64.
        normaliser: Change of units.
        dtype: Dtype of the results.
    """

    base: AbstractMarginals
    normaliser: Normaliser
    dtype: Any = eqx.field(static=True)

    def mean(self):
        with jax.enable_x64(True):
            return self._moments()[0].astype(self.dtype)

    def std(self):
        with jax.enable_x64(True):
            return self._moments()[1].astype(self.dtype)

    def cdf(self, y):
        with jax.enable_x64(True):
            below, above = (values < 0 for values in self._within(y))
            probabilities = self.base.cdf(self._model_values(y))
            probabilities = jnp.where(below, 0.0, jnp.where(above, 1.0, probabilities))
            return probabilities.astype(self.dtype)

    def quantile(self, q):
        with jax.enable_x64(True):
            return self.normaliser.inverse_y(self.base.quantile(q)).astype(self.dtype)

    def log_prob(self, y):
        with jax.enable_x64(True):
            log_probs = self.base.log_prob(self._model_values(y)) - jnp.log(self._scale(y))
            if self.normaliser.transform:
                values = y.astype(jnp.float64)
                log_probs += apply("log_derivative", self.normaliser.transform, values)
                within = inside(self.normaliser.transform, values)
                log_probs = jnp.where(within, log_probs, -jnp.inf)
            return log_probs.astype(self.dtype)

    def _scale(self, y: Outputs) -> Outputs:
        """Unit (n, p) of the transformed outputs."""
        return jnp.broadcast_to(jnp.asarray([self.normaliser.y_scale], jnp.float64), y.shape)

    def _within(self, y: Outputs) -> tuple[Outputs, Outputs]:
        """Distances (n, p) from the lower and to the upper end of the transforms' domains."""
        transforms = per_output(self.normaliser.transform, y)
        ends = [t.domain for t in transforms] or [(-np.inf, np.inf)] * y.shape[1]
        low, high = (jnp.asarray(end, jnp.float64)[None] for end in zip(*ends, strict=True))
        return y.astype(jnp.float64) - low, high - y.astype(jnp.float64)

    def _model_values(self, y: Outputs) -> Any:
        refuse_float32(self.normaliser, y)
        return self.normaliser.forward_y(y.astype(jnp.float64))

    def _moments(self) -> tuple[Outputs, Outputs]:
        if not self.normaliser.transform:
            mean, std = self.base.mean(), self.base.std()
            return self.normaliser.inverse_y(mean), self._scale(std) * std
        scores, weights = np.polynomial.hermite_e.hermegauss(NODES)
        weights = jnp.asarray(weights / weights.sum())
        values = self.normaliser.inverse_y(self._at_scores(jnp.asarray(scores)))
        mean = jnp.einsum("k,knp->np", weights, values)
        return mean, jnp.sqrt(jnp.einsum("k,knp->np", weights, (values - mean[None]) ** 2))

    def _at_scores(self, scores: Array) -> Array:
        """Model values (k, n, p) at the quantiles of normal scores (k,)."""
        if isinstance(self.base, NormalMarginals):
            location, scale = self.base.location[None], self.base.scale[None]
            return location + scale * scores[:, None, None]
        return self.base.quantile(jax.scipy.stats.norm.cdf(jnp.clip(scores, -MAX_SCORE, MAX_SCORE)))


def in_data_units(base: AbstractMarginals, normaliser: Normaliser, dtype: Any) -> AbstractMarginals:
    """Laws of the data's values; samples of a law stay samples."""
    if isinstance(base, SampleMarginals):
        return SampleMarginals(normaliser.inverse_y(base.samples).astype(dtype))
    return DataMarginals(base, normaliser, dtype)
