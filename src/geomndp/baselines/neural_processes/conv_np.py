r"""Convolutional neural process with a latent variable: a field of normal numbers on the grid.

$p(y | C) = \int \prod_i N(y_i; m_i(z), s_i(z)^2) p(z | C) \mathrm{d}z$, where a network maps the
context to p(z | C), independent over cells and channels, and another one z to means and standard
deviations at the targets (Foong et al. 2020).
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._types import Array, Float, PRNGKeyArray
from geomndp.baselines.neural_processes.cnn import AbstractGridNetwork
from geomndp.baselines.neural_processes.conv_features import (
    ConvConfig,
    ConvFeatures,
)
from geomndp.baselines.neural_processes.conv_process import AbstractConvProcess
from geomndp.baselines.neural_processes.importance_weighted import (
    SAMPLES_AT_ONCE,
    ImportanceWeighted,
)
from geomndp.baselines.neural_processes.latent_field import LatentField
from geomndp.baselines.neural_processes.predictions import (
    FactorisedGaussian,
    GaussianMixture,
    gaussian_head,
    log_mean_exp,
)
from geomndp.baselines.neural_processes.set_conv import Grid, where_covered

OBJECTIVES = ("likelihood", "elbo")
MIN_LATENT_STD = 1e-3


@dataclasses.dataclass(frozen=True, kw_only=True)
class ConvNPConfig(ConvConfig):
    """Hyperparameters of `ConvNP`: those of `ConvConfig` for both networks, and of the latent.

    Args:
        latent_channels: Channels of the latent field.
        objective: What is maximised, "likelihood" (the logarithm of the mean density over samples
            of the latent variable given the context) or "elbo" (the evidence lower bound, with the
            latent variable given context and targets).
        fixed_std: Standard deviation of every value given the latent variable, in place of a
            learnt one. The authors begin with 0.01, so that the latent variable is used;
            `nets.changed_config.with_config(process, fixed_std=None)` ends that.
        training_samples: Samples of the latent variable per function in training.
        prediction_samples: Samples of a prediction.
    """

    latent_channels: int = 16
    objective: str = "likelihood"
    fixed_std: float | None = None
    training_samples: int = 20
    prediction_samples: int = 128

    def __post_init__(self):
        super().__post_init__()
        _validation.one_of("objective", self.objective, OBJECTIVES)
        _validation.at_least(1, latent_channels=self.latent_channels)
        if self.fixed_std is not None:
            _validation.positive(fixed_std=self.fixed_std)
        numbers = {n: getattr(self, n) for n in ("training_samples", "prediction_samples")}
        _validation.at_least(1, **numbers)


class ConvNP(AbstractConvProcess[ConvNPConfig], tag="process/conv-np"):
    """ConvCNP whose network is cut by a random field: joint, and not Gaussian.

    Arguments are those of `ConvNPConfig`, and a `key`. Log-densities are logarithms of means over
    samples of the latent variable, lower bounds in expectation. Trained by "likelihood" the samples
    are of p(z | context); trained by "elbo" those of log-densities are of p(z | context, targets)
    with importance weights, since that law is learnt then.
    """

    features: ConvFeatures
    network: AbstractGridNetwork
    joint: ClassVar[bool] = True
    needs_key: ClassVar[bool] = True

    def __init__(self, *args: Any, key: PRNGKeyArray, **options: Any):
        self.config = c = ConvNPConfig(*args, **options)
        feature_key, network_key = jr.split(key)
        self.features = ConvFeatures(c, 2 * c.latent_channels, key=feature_key)
        sizes = (c.input_dim, c.latent_channels, 2 * c.output_dim)
        self.network = c.grid_network(*sizes, key=network_key)

    def grid(self, *point_sets: tuple[Any, Any]) -> Grid:
        """Grid about inputs (n, d) with masks (n,), with margins for both networks."""
        return self.features.grid(*point_sets, further=(self.network,))

    def latent(
        self, x: Float[Array, "c d"], y: Float[Array, "c p"], mask: Float[Array, " c"], grid: Grid
    ) -> LatentField:
        """Law of the latent variable given observations.

        Args:
            x: Inputs, shape (c, d).
            y: Values, shape (c, p).
            mask: 1 for real points, shape (c,).
            grid: Where it lies.
        """
        mean, raw = jnp.split(self.features.on_grid(x, y, mask, grid), 2)
        return LatentField(mean, MIN_LATENT_STD + jax.nn.softplus(raw))

    def decode(
        self, z: Float[Array, "k ..."], grid: Grid, x: Float[Array, "n d"]
    ) -> FactorisedGaussian:
        """Law of the values at inputs (n, d) given the latent variable."""
        dtype = self.config.compute_dtype or z.dtype
        h = self.network(z.astype(dtype)).astype(z.dtype)
        law = gaussian_head(self.features.decoder.decode(h, grid, x), self.config.min_std)
        if self.config.fixed_std is None:
            return law
        return FactorisedGaussian(law.location, jnp.full_like(law.scale, self.config.fixed_std))

    def predict(self, xc, yc, context_mask, x, mask, *, key=None):
        if key is None:
            raise ValueError("expected a key for the latent variable of ConvNP, got None")
        mixture_key, weight_key = jr.split(key)
        grid = self.grid((xc, context_mask), (x, mask))
        prior = self.latent(xc, yc, context_mask, grid)

        def one(key):
            law = self.decode(prior.sample(key=key), grid, x)
            covered = where_covered(law.location, grid, (xc, context_mask), (x, mask))
            return covered, law.scale

        keys = jr.split(mixture_key, self.config.prediction_samples)
        mixture = GaussianMixture(*jax.lax.map(one, keys, batch_size=SAMPLES_AT_ONCE))
        if self.config.objective == "likelihood":
            return mixture
        context = (xc, yc, context_mask)
        return ImportanceWeighted(self, mixture, context, (x, mask), weight_key)

    def training_loss(self, xc, yc, context_mask, x, y, mask, *, key):
        """Negative bound per target (of an "elbo": per point), by `training_samples` samples.

        The evidence lower bound is over context and targets together, as in the library of
        Bruinsma et al. 2023. Arguments as those of `AbstractNeuralProcess.training_loss`.
        """
        keys = jr.split(key, self.config.training_samples)
        grid = self.grid((xc, context_mask), (x, mask))
        prior = self.latent(xc, yc, context_mask, grid)
        if self.config.objective == "likelihood":
            nats = jax.vmap(lambda k: self.decode(prior.sample(key=k), grid, x).log_prob(y, mask))
            return -log_mean_exp(nats(keys)) / jnp.maximum(jnp.sum(mask), 1.0)
        x, y = jnp.concatenate([xc, x]), jnp.concatenate([yc, y])
        mask = jnp.concatenate([context_mask, mask])
        posterior = self.latent(x, y, mask, grid)
        nats = jax.vmap(lambda k: self.decode(posterior.sample(key=k), grid, x).log_prob(y, mask))
        bound = jnp.mean(nats(keys)) - posterior.kl(prior)
        return -bound / jnp.maximum(jnp.sum(mask), 1.0)
