r"""Steerable conditional neural process for fields over the plane.

Holderrieth, Hutchinson and Teh 2021, "Equivariant Learning of Stochastic Fields: Gaussian Processes
and Steerable Conditional Neural Processes". Facts from the authors' code
(github.com/PeterHolderrieth/Steerable_CNPs): contexts of 5 to 50 points, a grid of 30 x 30 over
[-10, 10]^2, filters of 5 x 5 and more, up to 24 regular fields with ReLU, covariances
$A^T A + 10^{-3} I$, 45,000 steps of Adam at 5e-4. Weights $\exp(-r^2 / 2 l)$ with l = 3 to the
grid and 5, learnt, from it are lengthscales of 1.7 and 2.2, where a cell is 0.69. Here both are
learnt, layers are residual, and the grid moves with the data.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._types import Array, Float, PRNGKeyArray
from geomndp.baselines.neural_processes.block_gaussian import BlockGaussian, block_head
from geomndp.baselines.neural_processes.group_conv import (
    GROUPS,
    GroupConv,
    from_frames,
    group_actions,
    to_frames,
)
from geomndp.baselines.neural_processes.network_process import (
    AbstractNetworkProcess,
    Extent,
    NeuralProcessConfig,
)
from geomndp.baselines.neural_processes.set_conv import SetConv, grid_over
from geomndp.equivariance import FieldType
from geomndp.nets.base import check_compute

GRID_CELLS = 32
"""Cells over the extent of the data where nothing else is said."""
OUTPUT_GAIN = 0.1
"""Factor of the first weights of the outputs: predictions begin near the standard normal law."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class SteerCNPConfig(NeuralProcessConfig):
    """Hyperparameters of `SteerCNP`.

    Args:
        input_dim: Two.
        output_dim: Number of outputs p, those of the representations together.
        representations: What the values are, such as ("scalar", "vector"): see
            `equivariance.FieldType`.
        group: "c4", rotations by 90 degrees, or "d4", the same and reflections.
        points_per_unit: Cells of the grid per unit of the inputs.
        extent: Largest width of a function's inputs, context and targets together, in units of the
            inputs. Wider ones give NaN.
        margin: Cells of the grid on every side beyond the extent; None for half of the receptive
            field, with which the edges of the grid have no influence.
        num_fields: Regular fields of every hidden layer, of 4 or 8 channels each.
        num_layers: Residual layers.
        kernel_size: Odd number of cells per side of a filter.
        min_std: Smallest standard deviation in any direction, in the model's units.
        compute_dtype: "bfloat16" for convolutions with float32 parameters and residuals; None
            follows the parameters.
        dtype: Dtype of the parameters.
    """

    representations: tuple[str, ...] = ("vector",)
    group: str = "d4"
    points_per_unit: float = 1.45
    extent: float = 20.0
    margin: int | None = None
    num_fields: int = 16
    num_layers: int = 6
    kernel_size: int = 5
    compute_dtype: str | None = None

    def __post_init__(self):
        super().__post_init__()
        if self.input_dim != 2:
            raise ValueError(f"expected fields over the plane, input_dim 2, got {self.input_dim}")
        if self.field_type.size != self.output_dim:
            got = f"{self.output_dim} outputs"
            raise ValueError(
                f"expected {self.field_type.size} of {self.representations}, got {got}"
            )
        _validation.one_of("group", self.group, GROUPS)
        _validation.positive(points_per_unit=self.points_per_unit, extent=self.extent)
        _validation.at_least(0, margin=0 if self.margin is None else self.margin)
        _validation.at_least(1, num_fields=self.num_fields, num_layers=self.num_layers)
        check_compute(self.compute_dtype)

    @property
    def field_type(self) -> FieldType:
        """Values over the plane."""
        return FieldType(2, *self.representations)

    @property
    def spacing(self) -> float:
        """Distance of neighbouring cells."""
        return 1 / self.points_per_unit

    @property
    def grid_size(self) -> int:
        """Odd number of cells per side: the extent, margins, and room to round the centre."""
        reach = (self.num_layers + 1) * (self.kernel_size // 2)
        margin = reach if self.margin is None else self.margin
        return 2 * (math.ceil(self.extent * self.points_per_unit / 2 + 0.5) + margin) + 1


class SteerCNP(AbstractNetworkProcess[SteerCNPConfig], tag="process/steer-cnp"):
    r"""Conditional neural process of fields over the plane that rotates with its data.

    Density and values of the context on a grid, regular fields of a group convolution (see
    `group_conv`), then at every target a mean and a covariance of its outputs:

    $$ p(y \mid g x, g \mathcal{C}) = p(g^{-1} y \mid x, \mathcal{C}) $$

    for all shifts by cells of the grid and all g of the group, to rounding; to other shifts and
    angles approximately, and the better the smaller a cell is beside the lengthscale of the fields.
    Targets are independent: samples are not jointly drawn. Time and memory are those of
    `num_layers` ordinary convolutions of 4 or 8 times `num_fields` channels on the grid; the two
    set convolutions cost little. Arguments are those of `SteerCNPConfig`.

    Example:
        `process = SteerCNP(2, 2, extent=20.0, points_per_unit=1.45, key=jr.key(0))`
    """

    encoder: SetConv
    decoder: SetConv
    embed: GroupConv
    layers: list[GroupConv]
    head: GroupConv

    def __init__(self, *args, key: PRNGKeyArray, **options):
        config = SteerCNPConfig(*args, **options)
        p, fields = config.output_dim, config.num_fields
        self.config = config
        self.encoder, self.decoder = (
            SetConv(2 * config.spacing, dtype=config.dtype) for _ in range(2)
        )
        embed_key, head_key, *keys = jr.split(key, 2 + config.num_layers)
        shared: dict[str, Any] = {"group": config.group, "dtype": config.dtype}
        self.embed = GroupConv(1 + p, fields, config.kernel_size, key=embed_key, **shared)
        gain = math.sqrt(2 / config.num_layers)
        self.layers = [
            GroupConv(fields, fields, config.kernel_size, gain=gain, key=layer_key, **shared)
            for layer_key in keys
        ]
        self.head = GroupConv(fields, p + 1 + p * p, 1, gain=OUTPUT_GAIN, key=head_key, **shared)

    @classmethod
    def for_data(
        cls, input_dim: int, output_dim: int, extent: Extent, *, key: PRNGKeyArray, **options: Any
    ) -> Any:
        """A process for fields whose inputs lie in a box, covered by 32 cells per side.

        Args:
            input_dim: Two.
            output_dim: Number of outputs p.
            extent: Lowest and highest value of every input, in the model's units.
            key: Random key of the parameters.
            **options: Further arguments of the configuration.

        Returns:
            The untrained process.
        """
        width = max(high - low for low, high in extent)
        options = {"extent": width, "points_per_unit": GRID_CELLS / width, **options}
        return cls(input_dim, output_dim, key=key, **options)

    def predict(self, xc, yc, context_mask, x, mask, *, key=None) -> BlockGaussian:
        config, p = self.config, self.config.output_dim
        grid = grid_over(config.spacing, config.grid_size, (xc, context_mask), (x, mask))
        encoded = self.encoder.encode(xc, yc, context_mask, grid)
        # From single points to as many as cells the density spans orders of magnitude.
        channels = self._convolve(encoded.at[0].set(jnp.log1p(encoded[0])))
        out = self.decoder.decode(channels, grid, x)
        covered = grid.covers(xc, context_mask) & grid.covers(x, mask)
        location, log_scale, matrix = jnp.split(
            jnp.where(covered, out, jnp.nan), (p, p + 1), axis=1
        )
        return block_head(location, log_scale, matrix.reshape(-1, p, p), config.min_std)

    def _convolve(self, encoded: Float[Array, "_ m m"]) -> Float[Array, "k m m"]:
        """Means, scales and matrices on the grid, from density and values there."""
        values = group_actions(self.config.group, self.config.field_type, encoded.dtype)
        scalar, matrix = jnp.ones_like(values[:, :1, :1]), jax.vmap(jnp.kron)(values, values)
        f = to_frames(_direct_sum(scalar, values), encoded)
        compute = jnp.dtype(self.config.compute_dtype or encoded.dtype)
        f = self.embed(f.astype(compute)).astype(encoded.dtype)
        for layer in self.layers:
            f = f + layer(jax.nn.relu(f).astype(compute)).astype(encoded.dtype)
        f = self.head(jax.nn.relu(f).astype(compute)).astype(encoded.dtype)
        return from_frames(_direct_sum(values, scalar, matrix), f)


def _direct_sum(*actions: Float[Array, "g _ _"]) -> Float[Array, "g k k"]:
    """Matrices of several representations as blocks of one."""
    return jax.vmap(jax.scipy.linalg.block_diag)(*actions)


__all__ = ["SteerCNP", "SteerCNPConfig"]
