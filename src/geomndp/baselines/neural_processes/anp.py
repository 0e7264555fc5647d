r"""Attentive neural process with a latent variable (Kim et al. 2019).

$p(y | C) = \int \prod_i N(y_i; m, s^2) p(z | C) \mathrm{d}z$: the latent vector z is normal with
moments from the mean embedding of the context; m and s at a target are functions of its input, of
z, and of what the target's query finds among the context by attention. Sizes are those of
NeuralProcesses.jl (`anp_1d`): every network has 6 layers of 128 channels.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._types import Array, Float, Inputs, PRNGKeyArray
from geomndp.baselines.neural_processes.network_process import (
    AbstractNetworkProcess,
    NeuralProcessConfig,
)
from geomndp.baselines.neural_processes.predictions import (
    FactorisedGaussian,
    GaussianMixture,
    gaussian_head,
)
from geomndp.nets.attention import attend, check_heads

MIN_LATENT_STD = 1e-3


@dataclasses.dataclass(frozen=True, kw_only=True)
class ANPConfig(NeuralProcessConfig):
    """Hyperparameters of `ANP`.

    Args:
        input_dim: Number of input coordinates d.
        output_dim: Number of outputs p.
        width: Channels of all layers and of the latent vector, divisible by `num_heads`.
        num_heads: Number of attention heads.
        num_encoder_layers: Layers of every network of the encoder.
        num_decoder_layers: Layers of the decoder.
        training_samples: Samples of the latent vector per function in training.
        prediction_samples: Samples of a prediction.
        min_std: Smallest standard deviation of a value given the latent vector.
        dtype: Dtype of the parameters.
    """

    width: int = 128
    num_heads: int = 8
    num_encoder_layers: int = 6
    num_decoder_layers: int = 6
    training_samples: int = 20
    prediction_samples: int = 128

    def __post_init__(self):
        super().__post_init__()
        check_heads(self.width, self.num_heads)
        names = ("num_encoder_layers", "num_decoder_layers", "training_samples")
        _validation.at_least(1, **{name: getattr(self, name) for name in names})
        _validation.at_least(1, prediction_samples=self.prediction_samples)


class ANP(AbstractNetworkProcess[ANPConfig], tag="process/anp"):
    """Attentive neural process: joint through its latent vector, without symmetry.

    Arguments are those of `ANPConfig`, and a `key`. It is trained by, and log-densities are, the
    logarithm of the mean density over samples of the latent vector given the context, a lower bound
    in expectation.

    Example:
        `process = ANP(1, 1, width=128, key=jr.key(0))`
    """

    locate: eqx.nn.MLP
    describe: eqx.nn.MLP
    nothing: Float[Array, "2 width"]
    merge: eqx.nn.Linear
    pool: eqx.nn.MLP
    latent_head: eqx.nn.MLP
    decoder: eqx.nn.MLP
    joint: ClassVar[bool] = True
    needs_key: ClassVar[bool] = True

    def __init__(self, *args: Any, key: PRNGKeyArray, **options: Any):
        self.config = c = ANPConfig(*args, **options)
        keys = jr.split(key, 7)
        d, p, width = c.input_dim, c.output_dim, c.width

        def network(inputs: int, outputs: int, layers: int, key: PRNGKeyArray) -> eqx.nn.MLP:
            return eqx.nn.MLP(inputs, outputs, width, layers - 1, dtype=c.dtype, key=key)

        self.locate = network(d, width, c.num_encoder_layers, keys[0])
        self.describe = network(d + p, width, c.num_encoder_layers, keys[1])
        self.nothing = jr.normal(keys[2], (2, width), jnp.dtype(c.dtype))
        self.merge = eqx.nn.Linear(width, width, dtype=c.dtype, key=keys[3])
        self.pool = network(d + p, width, c.num_encoder_layers, keys[4])
        self.latent_head = network(width, 2 * width, c.num_encoder_layers, keys[5])
        self.decoder = network(d + 2 * width, 2 * p, c.num_decoder_layers, keys[6])

    def latent(
        self, points: Float[Array, "c k"], mask: Float[Array, " c"]
    ) -> tuple[Float[Array, " width"], Float[Array, " width"]]:
        """Mean and standard deviation of the latent vector given the context.

        Args:
            points: Inputs and values side by side, shape (c, d + p).
            mask: 1 for real context points, shape (c,).
        """
        each = jnp.where(mask[:, None] > 0, jax.vmap(self.pool)(points), 0.0)
        mean, raw = jnp.split(
            self.latent_head(jnp.sum(each, axis=0) / jnp.maximum(jnp.sum(mask), 1.0)), 2
        )
        return mean, MIN_LATENT_STD + jax.nn.softplus(raw)

    def attended(
        self,
        points: Float[Array, "c k"],
        mask: Float[Array, " c"],
        x: Inputs,
    ) -> Float[Array, "n width"]:
        """What targets find among the context, and one learnt point that is always there.

        Args:
            points: Context inputs and values side by side, shape (c, d + p).
            mask: 1 for real context points, shape (c,).
            x: Target inputs, shape (n, d).
        """
        xc = points[:, : self.config.input_dim]
        keys = jnp.concatenate([self.nothing[:1], jax.vmap(self.locate)(xc)])
        values = jnp.concatenate([self.nothing[1:], jax.vmap(self.describe)(points)])
        query = jax.vmap(self.locate)(x)
        per_head = (self.config.num_heads, self.config.width // self.config.num_heads)
        heads = (v.reshape(1, len(v), *per_head) for v in (query, keys, values))
        seen = jnp.concatenate([jnp.ones(1, bool), mask > 0])
        pairs = jnp.broadcast_to(seen[None, :], (len(x), len(seen)))
        found = attend(*heads, pairs=pairs)[0].reshape(query.shape)
        return query + jax.vmap(self.merge)(found)

    def laws(
        self,
        xc: Float[Array, "c d"],
        yc: Float[Array, "c p"],
        context_mask: Float[Array, " c"],
        x: Inputs,
        num_samples: int,
        key: PRNGKeyArray,
    ) -> GaussianMixture:
        """Mixture over samples of the latent vector; arguments as those of `predict`.

        Args:
            xc: Context inputs, shape (c, d).
            yc: Context values, shape (c, p).
            context_mask: 1 for real context points, shape (c,).
            x: Target inputs, shape (n, d).
            num_samples: Number of samples.
            key: Random key of these.
        """
        points = jnp.concatenate([xc, yc], axis=1)
        mean, std = self.latent(points, context_mask)
        found = self.attended(points, context_mask, x)

        def one(key: PRNGKeyArray) -> FactorisedGaussian:
            z = mean + std * jr.normal(key, mean.shape, mean.dtype)
            latent = jnp.broadcast_to(z[None, :], (len(x), len(z)))
            raw = jax.vmap(self.decoder)(jnp.concatenate([x, found, latent], axis=1))
            return gaussian_head(raw, self.config.min_std)

        each = jax.vmap(one)(jr.split(key, num_samples))
        return GaussianMixture(each.location, each.scale)

    def predict(self, xc, yc, context_mask, x, mask, *, key=None):
        if key is None:
            raise ValueError("expected a key for the latent variable of ANP, got None")
        return self.laws(xc, yc, context_mask, x, self.config.prediction_samples, key)

    def training_loss(self, xc, yc, context_mask, x, y, mask, *, key):
        """Negative logarithm of the mean density over `training_samples`, per target."""
        law = self.laws(xc, yc, context_mask, x, self.config.training_samples, key)
        return -law.log_prob(y, mask) / jnp.maximum(jnp.sum(mask), 1.0)


__all__ = ["ANP", "ANPConfig"]
