"""Convolutional networks on grids of any number of axes: channels first, edges padded by zeros.

Widths are those of the authors' code: Bruinsma et al. 2021 (depthwise separable, kernels from the
receptive field), Holderrieth et al. 2021 (dense kernels on the plane), Bruinsma et al. 2023 (a
U-Net). Activations are leaky rectifiers of slope 0.1 throughout, as in the first.
"""

from __future__ import annotations

import abc
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._types import Array, Float, PRNGKeyArray
from geomndp.baselines.neural_processes.depthwise import depthwise_convolution

SLOPE = 0.1
GAIN = math.sqrt(2 / (1 + SLOPE**2))
"""Keeps the mean square through a layer and its activation (He et al. 2015)."""

Channels = Float[Array, "_ ..."]
"""Channels on a grid, shape (k, m, ..., m)."""


def activation(h: Channels) -> Channels:
    """Leaky rectifier of slope 0.1."""
    return jax.nn.leaky_relu(h, SLOPE)


def kernel_size_for(receptive_field: float, points_per_unit: float, num_layers: int) -> int:
    """Smallest odd kernel with which so many layers have a receptive field.

    Args:
        receptive_field: Width in units of the inputs.
        points_per_unit: Cells of the grid per unit.
        num_layers: Number of layers.
    """
    _validation.positive(receptive_field=receptive_field, points_per_unit=points_per_unit)
    size = math.ceil(1 + (receptive_field * points_per_unit - 1) / num_layers)
    return max(size + 1 - size % 2, 1)


def apply_in(layer: eqx.Module, h: Channels) -> Channels:
    """Apply a layer with its parameters in the dtype of the channels."""
    return jax.tree.map(lambda leaf: leaf.astype(h.dtype), layer)(h)  # pyright: ignore[reportCallIssue]


class AbstractGridNetwork(eqx.Module):
    """Map (in, m, ..., m) to (out, m, ..., m), equivariant to shifts away from the edges."""

    @abc.abstractmethod
    def __call__(self, h: Channels) -> Channels:
        """Apply the network.

        Args:
            h: Channels on the grid, in the dtype of the computation.

        Returns:
            Output channels on the same grid.
        """

    @property
    @abc.abstractmethod
    def receptive_field(self) -> int:
        """Width in cells of the inputs that reach an output, at most."""

    @property
    def multiple(self) -> int:
        """The number of cells per axis must be a multiple of this."""
        return 1


class Pointwise(eqx.Module):
    """Linear map of the channels at every cell, with an offset."""

    weight: Float[Array, "out in"]
    bias: Float[Array, " out"]

    def __init__(self, in_channels: int, out_channels: int, *, dtype: str, key: PRNGKeyArray):
        scale = GAIN / math.sqrt(in_channels)
        self.weight = scale * jr.normal(key, (out_channels, in_channels), dtype)
        self.bias = jnp.zeros(out_channels, dtype)

    def __call__(self, h: Channels) -> Channels:
        out = jnp.tensordot(self.weight.astype(h.dtype), h, axes=(1, 0))
        return out + jnp.expand_dims(self.bias.astype(h.dtype), range(1, h.ndim))


class SeparableLayer(eqx.Module):
    """Every channel by a kernel of its own, then all channels at every cell."""

    kernel: Float[Array, "k ..."]
    mix: Pointwise

    def __init__(self, dim: int, width: int, kernel_size: int, *, dtype: str, key: PRNGKeyArray):
        kernel_key, mix_key = jr.split(key)
        shape = (width, *(kernel_size,) * dim)
        self.kernel = jr.normal(kernel_key, shape, dtype) / math.sqrt(kernel_size**dim)
        self.mix = Pointwise(width, width, dtype=dtype, key=mix_key)

    def __call__(self, h: Channels) -> Channels:
        return self.mix(depthwise_convolution(h, self.kernel))


class SeparableCNN(AbstractGridNetwork):
    """Depthwise separable layers between two pointwise ones (Bruinsma et al. 2021).

    Args:
        dim: Number of axes of the grid.
        in_channels: Channels of the input.
        out_channels: Channels of the output.
        width: Channels in between.
        num_layers: Number of separable layers.
        kernel_size: Odd number of cells per axis.
        dtype: Dtype of the parameters.
        key: Random key.
    """

    first: Pointwise
    layers: list[SeparableLayer]
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
        first_key, layer_key, last_key = jr.split(key, 3)
        self.first = Pointwise(in_channels, width, dtype=dtype, key=first_key)
        self.layers = [
            SeparableLayer(dim, width, kernel_size, dtype=dtype, key=key)
            for key in jr.split(layer_key, num_layers)
        ]
        self.last = Pointwise(width, out_channels, dtype=dtype, key=last_key)
        self.kernel_size = kernel_size

    @property
    def receptive_field(self) -> int:
        return 1 + len(self.layers) * (self.kernel_size - 1)

    def __call__(self, h):
        h = activation(self.first(h))
        for layer in self.layers:
            h = activation(layer(h))
        return self.last(h)


class CNN(AbstractGridNetwork):
    """Dense convolutions with activations between them (Holderrieth et al. 2021).

    Arguments as those of `SeparableCNN`; `num_layers` counts all convolutions.
    """

    layers: list[eqx.nn.Conv]
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
        widths = (in_channels, *(width,) * (num_layers - 1), out_channels)
        options = {"padding": kernel_size // 2, "dtype": dtype}
        self.layers = [
            eqx.nn.Conv(dim, before, after, kernel_size, **options, key=key)
            for before, after, key in zip(
                widths[:-1], widths[1:], jr.split(key, num_layers), strict=True
            )
        ]
        self.kernel_size = kernel_size

    @property
    def receptive_field(self) -> int:
        return 1 + len(self.layers) * (self.kernel_size - 1)

    def __call__(self, h):
        for layer in self.layers[:-1]:
            h = activation(apply_in(layer, h))
        return apply_in(self.layers[-1], h)


def check_odd(kernel_size: int) -> None:
    """Raise ValueError unless the size of a kernel is odd."""
    _validation.at_least(1, kernel_size=kernel_size)
    if not kernel_size % 2:
        raise ValueError(f"expected an odd kernel_size, got {kernel_size}")
