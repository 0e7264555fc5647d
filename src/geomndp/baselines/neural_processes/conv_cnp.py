"""Convolutional conditional neural process: a normal law of every target by itself."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax.numpy as jnp

from geomndp._types import PRNGKeyArray
from geomndp.baselines.neural_processes.block_gaussian import block_head
from geomndp.baselines.neural_processes.conv_features import ConvConfig, ConvFeatures
from geomndp.baselines.neural_processes.conv_process import AbstractConvProcess
from geomndp.baselines.neural_processes.predictions import gaussian_head


@dataclasses.dataclass(frozen=True, kw_only=True)
class ConvCNPConfig(ConvConfig):
    """Hyperparameters of `ConvCNP`: those of `ConvConfig`, and the covariance of one target.

    Args:
        correlated_outputs: Whether the p > 1 outputs at one target depend on each other, as the
            components of a vector field do.
    """

    correlated_outputs: bool = True

    @property
    def has_blocks(self) -> bool:
        """Whether every target has a covariance matrix."""
        return self.correlated_outputs and self.output_dim > 1


class ConvCNP(AbstractConvProcess[ConvCNPConfig], tag="process/conv-cnp"):
    """Set convolution to a grid, network, set convolution to the targets, Gaussian head.

    Gordon et al. 2020. Arguments are those of `ConvCNPConfig`, and a `key`.

    Example:
        ```python
        ConvCNP(1, 1, receptive_field=4.0, key=key)  # Bruinsma et al. 2021, weakly periodic
        ConvCNP(1, 1, network="unet", num_layers=6, key=key)  # Bruinsma et al. 2023
        # Holderrieth et al. 2021: fields on a square of side 20
        sizes = {"network": "dense", "num_layers": 7, "width": 40, "kernel_size": 7}
        ConvCNP(2, 2, extent=20.0, points_per_unit=1.45, lengthscale=1.7, **sizes, key=key)
        ```
    """

    features: ConvFeatures

    def __init__(self, *args: Any, key: PRNGKeyArray, **options: Any):
        self.config = c = ConvCNPConfig(*args, **options)
        p = c.output_dim
        self.features = ConvFeatures(c, p + 1 + p * p if c.has_blocks else 2 * p, key=key)

    def predict(self, xc, yc, context_mask, x, mask, *, key=None):
        raw, p = self.features(xc, yc, context_mask, x, mask), self.dim
        if not self.config.has_blocks:
            return gaussian_head(raw, self.config.min_std)
        location, log_scale, matrix = jnp.split(raw, (p, p + 1), axis=1)
        return block_head(location, log_scale, matrix.reshape(len(x), p, p), self.config.min_std)
