"""Convolutional conditional neural process: a normal law of every target by itself."""

from __future__ import annotations

from typing import Any

from geomndp._types import PRNGKeyArray
from geomndp.baselines.neural_processes.conv_features import ConvConfig, ConvFeatures
from geomndp.baselines.neural_processes.conv_process import AbstractConvProcess
from geomndp.baselines.neural_processes.predictions import gaussian_head


class ConvCNP(AbstractConvProcess[ConvConfig], tag="process/conv-cnp"):
    """Set convolution to a grid, network, set convolution to the targets, Gaussian head.

    Gordon et al. 2020. Arguments are those of `ConvConfig`, and a `key`.

    Example:
        ```python
        ConvCNP(1, 1, receptive_field=4.0, key=key)  # Bruinsma et al. 2021, weakly periodic
        ConvCNP(1, 1, network="unet", num_layers=6, key=key)  # Bruinsma et al. 2023
        ```
    """

    features: ConvFeatures

    def __init__(self, *args: Any, key: PRNGKeyArray, **options: Any):
        self.config = c = ConvConfig(*args, **options)
        self.features = ConvFeatures(c, 2 * c.output_dim, key=key)

    def predict(self, xc, yc, context_mask, x, mask, *, key=None):
        raw = self.features(xc, yc, context_mask, x, mask)
        return gaussian_head(raw, self.config.min_std)
