r"""Convolutional Gaussian neural process: joint normal targets of low-rank covariance and noise."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from geomndp import _validation
from geomndp._types import Array, Float, PRNGKeyArray
from geomndp.baselines.neural_processes.conv_features import ConvConfig, ConvFeatures
from geomndp.baselines.neural_processes.conv_process import AbstractConvProcess
from geomndp.baselines.neural_processes.predictions import JointGaussian


@dataclasses.dataclass(frozen=True, kw_only=True)
class ConvGNPConfig(ConvConfig):
    """Hyperparameters of `ConvGNP`: those of `ConvConfig`, and the rank of the covariance.

    Args:
        rank: Number r of basis functions of the covariance.
    """

    rank: int = 64

    def __post_init__(self):
        super().__post_init__()
        _validation.at_least(1, rank=self.rank)


class ConvGNP(AbstractConvProcess[ConvGNPConfig], tag="process/conv-gnp"):
    r"""ConvCNP with covariance $F F^\top / r + \mathrm{diag}(s^2)$, rank r (Bruinsma et al. 2023).

    Arguments are those of `ConvGNPConfig`, and a `key`. Values at coincident targets share all but
    their noise s, which is at least `min_std`.
    """

    features: ConvFeatures
    joint: ClassVar[bool] = True

    def __init__(self, *args: Any, key: PRNGKeyArray, **options: Any):
        self.config = c = ConvGNPConfig(*args, **options)
        self.features = ConvFeatures(c, c.output_dim * (2 + c.rank), key=key)

    def predict(self, xc, yc, context_mask, x, mask, *, key=None):
        p, rank = self.dim, self.config.rank
        raw = self.features(xc, yc, context_mask, x, mask)
        location, noise, factors = jnp.split(raw, (p, 2 * p), axis=1)
        factors = factors.reshape(len(x) * p, rank)
        covariance = jnp.matmul(factors, factors.T, precision="highest") / rank
        return JointGaussian(location, with_noise(covariance, noise, self.config.min_std))


def with_noise(
    covariance: Float[Array, "np np"], raw: Float[Array, "n p"], min_std: float
) -> Float[Array, "np np"]:
    r"""Covariance with independent noise of standard deviation `min_std` + log(1 + exp r) added.

    Args:
        covariance: Shape (n p, n p).
        raw: Numbers r, shape (n, p).
        min_std: Smallest standard deviation.
    """
    std = min_std + jax.nn.softplus(raw)
    return covariance + jnp.diag(jnp.ravel(std) ** 2)
