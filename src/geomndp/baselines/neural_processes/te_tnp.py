r"""Translation-equivariant transformer neural process (TE-TNP; Ashman et al. 2024).

Tokens are points. Those of the context hold their values, those of targets a learnt vector; the
inputs enter through biases of differences $x_i - x_j$ only. Every token sees the context and
itself, none sees another target: the law of a target does not depend on which others there are.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr

from geomndp._types import Array, Float, Inputs, Outputs, PRNGKeyArray
from geomndp.baselines.neural_processes.network_process import (
    AbstractNetworkProcess,
    NeuralProcessConfig,
)
from geomndp.baselines.neural_processes.predictions import FactorisedGaussian, gaussian_head
from geomndp.linalg import zero_masked
from geomndp.nets.covariates import CovariateEmbedding, covariate_embedding
from geomndp.nets.layers import linear, rms_norm
from geomndp.nets.relative_attention import TransformerBlock
from geomndp.nets.relative_position_bias import RelativeBias, TransformerConfig


@dataclasses.dataclass(frozen=True, kw_only=True)
class TETNPConfig(TransformerConfig, NeuralProcessConfig):
    """Hyperparameters of `TETNP`: those of a transformer with relative biases, and `min_std`.

    Args:
        width: Channels of a token, divisible by `num_heads`.
        num_layers: Number of transformer blocks.
    """

    width: int = 128
    num_layers: int = 5


class TETNP(AbstractNetworkProcess[TETNPConfig], tag="process/te-tnp"):
    """Translation-equivariant transformer neural process with a factorised Gaussian law.

    Arguments are those of `TETNPConfig`. Attention costs (c + n)^2 for c context points and n
    targets.

    Example:
        `process = TETNP(1, 1, width=128, key=jr.key(0))`
    """

    embed: eqx.nn.Linear
    target: Float[Array, " width"]
    bias: RelativeBias
    blocks: list[TransformerBlock]
    head: eqx.nn.Linear
    covariates: CovariateEmbedding | None

    def __init__(self, *args: Any, key: PRNGKeyArray, **options: Any):
        self.config = c = TETNPConfig(*args, **options)
        embed_key, target_key, bias_key, block_key, head_key = jr.split(key, 5)
        self.embed = eqx.nn.Linear(c.output_dim, c.width, dtype=c.dtype, key=embed_key)
        self.target = jr.normal(target_key, (c.width,), jnp.dtype(c.dtype))
        self.bias = RelativeBias(c, key=bias_key)
        self.blocks = [
            TransformerBlock(c.width, c.num_heads, c.expansion, dtype=c.dtype, key=key)
            for key in jr.split(block_key, c.num_layers)
        ]
        self.head = eqx.nn.Linear(c.width, 2 * c.output_dim, dtype=c.dtype, key=head_key)
        self.covariates = covariate_embedding(c, key=key)

    @property
    def num_relative_inputs(self) -> int:
        return self.config.num_inputs

    def predict(self, xc, yc, context_mask, x, mask, *, key=None):
        values = jnp.concatenate([yc, jnp.zeros((len(x), self.dim), yc.dtype)])
        context = jnp.concatenate([context_mask, jnp.zeros_like(mask)])
        law = self._laws(jnp.concatenate([xc, x]), values, context)
        return FactorisedGaussian(law.location[len(xc) :], law.scale[len(xc) :])

    def function_loss(self, x, y, context, targets, *, key):
        """Negative log-density per target, with one token per point, not two."""
        law = self._laws(x, y, context)
        return -law.log_prob(y, targets) / jnp.maximum(jnp.sum(targets), 1.0)

    def _laws(self, x: Inputs, y: Outputs, context: Float[Array, " n"]) -> FactorisedGaussian:
        """Law at every point given those of the context; at these themselves it means nothing."""
        inputs, covariates = jnp.split(x, [self.config.num_inputs], axis=1)
        given = (context > 0)[:, None]
        h = jnp.where(given, linear(self.embed, zero_masked(y, context)), self.target[None])
        h = h if self.covariates is None else h + self.covariates(covariates)
        seen = given.T | jnp.eye(len(x), dtype=bool)
        dtype = jnp.dtype(self.config.compute_dtype or x.dtype)
        for block, bias in zip(self.blocks, self.bias(inputs, dtype), strict=True):
            h = block(h, bias, None, dtype, None, seen)
        return gaussian_head(linear(self.head, rms_norm(h)), self.config.min_std)


__all__ = ["TETNP", "TETNPConfig"]
