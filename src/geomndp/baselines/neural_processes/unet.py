"""U-Net on grids of any number of axes: halving layers, doubling layers, and paths across."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._types import PRNGKeyArray
from geomndp.baselines.neural_processes.cnn import (
    AbstractGridNetwork,
    Pointwise,
    activation,
    apply_in,
    check_odd,
)


class UNet(AbstractGridNetwork):
    """Convolutions of stride two down, transposed ones up, each beside the layer of its size.

    After Bruinsma et al. 2023: six layers of 64 channels, kernels of five cells, stride two in
    every layer.

    Args:
        dim: Number of axes of the grid.
        in_channels: Channels of the input.
        out_channels: Channels of the output.
        width: Channels in between.
        num_layers: Number L of halvings; the grid has a multiple of 2^L cells per axis.
        kernel_size: Odd number of cells per axis.
        dtype: Dtype of the parameters.
        key: Random key.
    """

    down: list[eqx.nn.Conv]
    up: list[eqx.nn.ConvTranspose]
    last: Pointwise
    kernel_size: int = eqx.field(static=True)

    def __init__(
        self,
        dim: int,
        in_channels: int,
        out_channels: int,
        *,
        width: int,
        num_layers: int,
        kernel_size: int,
        dtype: str,
        key: PRNGKeyArray,
    ):
        check_odd(kernel_size)
        _validation.at_least(1, num_layers=num_layers)
        down_key, up_key, last_key = jr.split(key, 3)
        options = {"stride": 2, "padding": kernel_size // 2, "dtype": dtype}
        self.down = [
            eqx.nn.Conv(dim, width if i else in_channels, width, kernel_size, **options, key=key)
            for i, key in enumerate(jr.split(down_key, num_layers))
        ]
        options["output_padding"] = 1
        self.up = [
            eqx.nn.ConvTranspose(dim, (2 if i else 1) * width, width, kernel_size, **options, key=k)
            for i, k in enumerate(jr.split(up_key, num_layers))
        ]
        self.last = Pointwise(width, out_channels, dtype=dtype, key=last_key)
        self.kernel_size = kernel_size

    @property
    def multiple(self) -> int:
        return 2 ** len(self.down)

    @property
    def receptive_field(self) -> int:
        return 1 + 2 * max(map(self._reach, range(self.multiple)))

    def _reach(self, cell: int) -> int:
        """Distance of the farthest input that an output at a cell sees, in cells."""
        low = high = cell
        radius = self.kernel_size // 2
        for _ in self.up:
            low, high = -((radius - low) // 2), (high + radius) // 2
        for _ in self.down:
            low, high = 2 * low - radius, 2 * high + radius
        return max(cell - low, high - cell)

    def __call__(self, h):
        across = []
        for layer in self.down:
            h = activation(apply_in(layer, h))
            across.append(h)
        across.pop()
        h = activation(apply_in(self.up[0], h))
        for layer, beside in zip(self.up[1:], reversed(across), strict=True):
            h = activation(apply_in(layer, jnp.concatenate([beside, h])))
        return self.last(h)
