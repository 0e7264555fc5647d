"""From a context to channels at any inputs: set convolution, network on a grid, set convolution."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import equinox as eqx

from geomndp import _validation
from geomndp._types import Array, Float, Inputs, PRNGKeyArray
from geomndp.baselines.neural_processes.cnn import (
    CNN,
    AbstractGridNetwork,
    SeparableCNN,
    kernel_size_for,
)
from geomndp.baselines.neural_processes.network_process import NeuralProcessConfig
from geomndp.baselines.neural_processes.set_conv import (
    Grid,
    SetConv,
    grid_over,
    where_covered,
)
from geomndp.baselines.neural_processes.unet import UNet
from geomndp.nets.base import check_compute

NETWORKS: dict[str, Any] = {"separable": SeparableCNN, "dense": CNN, "unet": UNet}
UNET_KERNEL = 5
LENGTHSCALE_CELLS = 2.0
"""Initial lengthscales over the spacing of the grid."""
DECODER_REACH = 4.0
"""Lengthscales beyond which cells have no weight at a target."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ConvConfig(NeuralProcessConfig):
    """Hyperparameters of convolutional neural processes.

    The defaults are those of Bruinsma et al. 2021 for functions on an interval of length 4: eight
    depthwise separable layers of 64 channels, 64 cells per unit, a receptive field of 2.

    Args:
        input_dim: Number of input coordinates d.
        output_dim: Number of outputs p.
        extent: Widest range, along an axis, of the context and targets of one function together.
            Inputs that range wider use up the margin; where they leave the grid the law is NaN: see
            `with_room`.
        points_per_unit: Cells of the grid per unit of the inputs.
        margin: Room for cells beyond the extent on each side, in units of the inputs; by default
            half the receptive field and four lengthscales, with which the edges change nothing.
        network: "separable" (depthwise separable layers), "dense" or "unet".
        num_layers: Layers of the network, halvings of a U-Net.
        width: Channels of the network.
        receptive_field: Width in units of the inputs, from which kernels have their size.
        kernel_size: Odd number of cells, in place of that; 5 for a U-Net.
        lengthscale: Initial one of the set convolution to the grid; by default two cells.
        decoder_lengthscale: The same from the grid.
        learn_lengthscale: Whether that to the grid is learnt.
        min_std: Smallest standard deviation of a predicted value, in the model's units.
        compute_dtype: Dtype in which the network computes, such as "bfloat16"; set convolutions and
            Fourier transforms keep that of the parameters.
        dtype: Dtype of the parameters.
    """

    extent: float = 4.0
    points_per_unit: float = 64.0
    margin: float | None = None
    network: str = "separable"
    num_layers: int = 8
    width: int = 64
    receptive_field: float = 2.0
    kernel_size: int | None = None
    lengthscale: float | None = None
    decoder_lengthscale: float | None = None
    learn_lengthscale: bool = True
    compute_dtype: str | None = None

    def __post_init__(self):
        super().__post_init__()
        _validation.positive(extent=self.extent, points_per_unit=self.points_per_unit)
        _validation.positive(receptive_field=self.receptive_field)
        _validation.at_least(1, num_layers=self.num_layers, width=self.width)
        _validation.one_of("network", self.network, tuple(NETWORKS))
        if self.margin is not None:
            _validation.not_negative(margin=self.margin)
        check_compute(self.compute_dtype)

    def grid_network(
        self, dim: int, in_channels: int, out_channels: int, *, key: PRNGKeyArray
    ) -> AbstractGridNetwork:
        """Untrained network on a grid of `dim` axes."""
        size = self.kernel_size
        if size is None and self.network == "unet":
            size = UNET_KERNEL
        if size is None:
            size = kernel_size_for(self.receptive_field, self.points_per_unit, self.num_layers)
        options = {"width": self.width, "num_layers": self.num_layers, "kernel_size": size}
        make = NETWORKS[self.network]
        return make(dim, in_channels, out_channels, **options, dtype=self.dtype, key=key)

    def grid_size(self, *networks: AbstractGridNetwork) -> int:
        """Cells per axis for networks one after the other: extent and margins.

        Odd, and so symmetric about the centre, unless a network halves the grid.
        """
        cells, margin = self.extent * self.points_per_unit, self.margin
        if margin is None:
            smoothing = self.decoder_lengthscale or LENGTHSCALE_CELLS / self.points_per_unit
            reach = sum(network.receptive_field for network in networks) / 2
            reach += DECODER_REACH * smoothing * self.points_per_unit
        else:
            reach = margin * self.points_per_unit
        # One more on each side: the centre is rounded to a cell.
        size = math.ceil(cells) + 2 * math.ceil(reach) + 2
        multiple = math.lcm(*(network.multiple for network in networks))
        return size + 1 - size % 2 if multiple == 1 else -(-size // multiple) * multiple


class ConvFeatures(eqx.Module):
    """Channels at the targets from a context, equivariant to shifts by multiples of the spacing.

    For c context points, n targets, m cells per axis of d axes and w channels a call costs
    O((c + n k) m^d) for the set convolutions to 1 + p and from k channels, and for L separable
    layers O(L w (w + log m) m^d), for dense ones of kernel size s O(L w^2 s^d m^d).

    Args:
        config: Sizes.
        out_channels: Number k of channels.
        key: Random key.
    """

    encoder: SetConv
    network: AbstractGridNetwork
    decoder: SetConv
    config: ConvConfig = eqx.field(static=True)

    def __init__(self, config: ConvConfig, out_channels: int, *, key: PRNGKeyArray):
        self.config = c = config
        spacing = 1 / c.points_per_unit
        self.encoder, self.decoder = set_convs(c, spacing)
        channels = (1 + c.output_dim, out_channels)
        self.network = c.grid_network(c.input_dim, *channels, key=key)

    def grid(
        self, *point_sets: tuple[Any, Any], further: tuple[AbstractGridNetwork, ...] = ()
    ) -> Grid:
        """Grid about inputs (n, d) with masks (n,), with margins for further networks too."""
        size = self.config.grid_size(self.network, *further)
        return grid_over(1 / self.config.points_per_unit, size, *point_sets)

    def on_grid(
        self, xc: Float[Array, "c d"], yc: Float[Array, "c p"], mask: Float[Array, " c"], grid: Grid
    ) -> Float[Array, "k ..."]:
        """Output channels of the network, in the dtype of the parameters."""
        encoded = self.encoder.encode(xc, yc, mask, grid)
        dtype = self.config.compute_dtype or encoded.dtype
        return self.network(encoded.astype(dtype)).astype(encoded.dtype)

    def __call__(
        self,
        xc: Float[Array, "c d"],
        yc: Float[Array, "c p"],
        context_mask: Float[Array, " c"],
        x: Inputs,
        mask: Float[Array, " n"],
    ) -> Float[Array, "n k"]:
        """Channels at the targets, NaN where inputs leave the grid.

        Args:
            xc: Context inputs, shape (c, d).
            yc: Context values, shape (c, p).
            context_mask: 1 for real context points, shape (c,).
            x: Target inputs, shape (n, d).
            mask: 1 for real targets, shape (n,).

        Returns:
            Shape (n, k).
        """
        grid = self.grid((xc, context_mask), (x, mask))
        out = self.decoder.decode(self.on_grid(xc, yc, context_mask, grid), grid, x)
        return where_covered(out, grid, (xc, context_mask), (x, mask))


def set_convs(config: ConvConfig, spacing: float) -> tuple[SetConv, SetConv]:
    """Set convolutions to a grid and from it."""
    start = LENGTHSCALE_CELLS * spacing
    encoder = SetConv(
        config.lengthscale or start, learnt=config.learn_lengthscale, dtype=config.dtype
    )
    return encoder, SetConv(config.decoder_lengthscale or start, dtype=config.dtype)
