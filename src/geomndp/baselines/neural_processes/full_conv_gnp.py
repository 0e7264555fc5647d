"""Fully convolutional Gaussian neural process (GNP): its kernel is a network on a product grid."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._types import Array, Float, PRNGKeyArray
from geomndp.baselines.neural_processes.cnn import AbstractGridNetwork
from geomndp.baselines.neural_processes.conv_features import (
    ConvConfig,
    ConvFeatures,
    set_convs,
)
from geomndp.baselines.neural_processes.conv_gnp import with_noise
from geomndp.baselines.neural_processes.conv_process import AbstractConvProcess
from geomndp.baselines.neural_processes.grid_process import MOST_CELLS
from geomndp.baselines.neural_processes.predictions import JointGaussian
from geomndp.baselines.neural_processes.set_conv import (
    Grid,
    SetConv,
    grid_over,
    where_covered,
)

MOST_KERNEL_FIELD = 8.0
KERNEL_CELLS, KERNEL_MARGIN, KERNEL_FIELD = 40, 0.125, 0.5
"""For data of any units: cells over the widest range of the inputs, and shares of that range."""
INITIAL_SCALE = 0.1
"""Of the kernel's root, so that untrained targets depend on each other weakly."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class FullConvGNPConfig(ConvConfig):
    """Hyperparameters of `FullConvGNP`: those of `ConvConfig` for the mean, and of the kernel.

    Args:
        kernel_points_per_unit: Cells of the product grid per unit of the inputs, on both axes.
        kernel_margin: Cells beyond the extent on each side, in units of the inputs.
        kernel_width: Channels of the kernel's network.
        kernel_layers: Its layers.
        kernel_receptive_field: Its receptive field; by default that of the mean, at most 8.
    """

    kernel_points_per_unit: float = 20.0
    kernel_margin: float = 0.5
    kernel_width: int = 64
    kernel_layers: int = 8
    kernel_receptive_field: float | None = None

    def __post_init__(self):
        super().__post_init__()
        if self.input_dim != 1:
            got = self.input_dim
            raise ValueError(
                f"expected functions of one input, whose product grid is a square, got {got}"
            )
        _validation.positive(kernel_points_per_unit=self.kernel_points_per_unit)

    def kernel_config(self) -> ConvConfig:
        """Sizes of the network on the product grid."""
        field = self.kernel_receptive_field or min(self.receptive_field, MOST_KERNEL_FIELD)
        return ConvConfig(
            2,
            self.output_dim,
            extent=self.extent,
            points_per_unit=self.kernel_points_per_unit,
            margin=self.kernel_margin,
            network=self.network,
            num_layers=self.kernel_layers,
            width=self.kernel_width,
            receptive_field=field,
            compute_dtype=self.compute_dtype,
            dtype=self.dtype,
        )


class ProductKernel(eqx.Module):
    r"""Covariance $\int z(x, u) z(x', u)^\top \mathrm{d}u$, positive semi-definite by construction.

    The context lies on the diagonal of the product grid, whose cells (u, u) a further channel
    marks; a network maps these channels to the root z (p, p).

    Args:
        config: Sizes, of two input coordinates.
        key: Random key.
    """

    encoder: SetConv
    network: AbstractGridNetwork
    decoder: SetConv
    config: ConvConfig = eqx.field(static=True)

    def __init__(self, config: ConvConfig, *, key: PRNGKeyArray):
        self.config, p = config, config.output_dim
        self.encoder, self.decoder = set_convs(config, 1 / config.points_per_unit)
        self.network = config.grid_network(2, 2 + p, p * p, key=key)

    def __call__(
        self,
        xc: Float[Array, "c 1"],
        yc: Float[Array, "c p"],
        context_mask: Float[Array, " c"],
        x: Float[Array, "n 1"],
        mask: Float[Array, " n"],
    ) -> Float[Array, "np np"]:
        """Covariance of the targets without noise; arguments as those of `ConvFeatures`.

        For m cells per axis it costs O(n m^2) for each of p^2 channels beside the network.
        """
        c, n, p = self.config, len(x), yc.shape[1]
        line = grid_over(
            1 / c.points_per_unit, c.grid_size(self.network), (xc, context_mask), (x, mask)
        )
        square = Grid(jnp.tile(line.centre, 2), line.spacing, line.size)
        encoded = self.encoder.encode(jnp.tile(xc, (1, 2)), yc, context_mask, square)
        channels = jnp.concatenate([jnp.eye(line.size, dtype=encoded.dtype)[None], encoded])
        dtype = c.compute_dtype or encoded.dtype
        root = self.network(channels.astype(dtype)).astype(encoded.dtype)
        # The last axis is decoded, the other integrated over.
        rows = self.decoder.decode(root.reshape(-1, line.size), line, x)
        rows = rows.reshape(n, p, p * line.size) * (INITIAL_SCALE * line.spacing**0.5)
        rows = where_covered(rows, line, (xc, context_mask), (x, mask)).reshape(
            n * p, p * line.size
        )
        return jnp.matmul(rows, rows.T, precision="highest")


class FullConvGNP(AbstractConvProcess[FullConvGNPConfig], tag="process/full-conv-gnp"):
    r"""Mean and noise by a ConvCNP's network, covariance by one on the product grid.

    Bruinsma et al. 2021 ("The Gaussian Neural Process"; their code "corconvcnp"), with the noise of
    every target by itself of the library of Bruinsma et al. 2023. Arguments are those of
    `FullConvGNPConfig`, and a `key`; functions of one input only.

    The network of the kernel is equivariant to shifts along the diagonal. Its cost grows with the
    square of the extent: 100 x 100 cells for 5 units at 20 cells per unit.
    """

    features: ConvFeatures
    kernel: ProductKernel
    joint: ClassVar[bool] = True

    def __init__(self, *args: Any, key: PRNGKeyArray, **options: Any):
        self.config = c = FullConvGNPConfig(*args, **options)
        mean_key, kernel_key = jr.split(key)
        self.features = ConvFeatures(c, 2 * c.output_dim, key=mean_key)
        self.kernel = ProductKernel(c.kernel_config(), key=kernel_key)

    @classmethod
    def sizes_for(cls, input_dim: int, widest: float) -> dict[str, Any]:
        return super().sizes_for(input_dim, widest) | {
            "kernel_points_per_unit": KERNEL_CELLS / widest,
            "kernel_margin": KERNEL_MARGIN * widest,
            "kernel_receptive_field": KERNEL_FIELD * widest,
        }

    @property
    def grid_dim(self) -> int:
        """Axes of the product grid."""
        return 2 * self.input_dim

    @property
    def most_extent(self) -> float:
        """Widest extent whose product grid has at most `MOST_CELLS`."""
        product = MOST_CELLS**0.5 / self.config.kernel_points_per_unit
        return min(super().most_extent, product)

    def predict(self, xc, yc, context_mask, x, mask, *, key=None):
        location, noise = jnp.split(self.features(xc, yc, context_mask, x, mask), 2, axis=1)
        covariance = self.kernel(xc, yc, context_mask, x, mask)
        return JointGaussian(location, with_noise(covariance, noise, self.config.min_std))
