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
from geomndp.baselines.neural_processes.conv_features import DECODER_REACH, LENGTHSCALE_CELLS
from geomndp.baselines.neural_processes.grid_process import AbstractGridProcess, widest_range
from geomndp.baselines.neural_processes.group_conv import (
    GROUPS,
    GroupConv,
    from_frames,
    group_actions,
    to_frames,
)
from geomndp.baselines.neural_processes.network_process import Extent, NeuralProcessConfig
from geomndp.baselines.neural_processes.set_conv import SetConv, grid_over, where_covered
from geomndp.equivariance import FieldType
from geomndp.nets.base import check_compute

GRID_CELLS = 24
"""Cells over the widest range of a user's own data."""
CPU_SIZES = {"num_fields": 4, "num_layers": 4}
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
        extent: Widest range, along an axis, of the context and targets of one function together.
            Inputs that range wider use up the margin; where they leave the grid the law is NaN: see
            `with_room`.
        margin: Room for cells beyond the extent on each side, in units of the inputs; by default
            half of the receptive field and four lengthscales, with which the edges change nothing.
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
    margin: float | None = None
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
        _validation.not_negative(margin=self.margin or 0.0)
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
        reach = (self.num_layers + 1) * (self.kernel_size // 2) + DECODER_REACH * LENGTHSCALE_CELLS
        margin = reach if self.margin is None else self.margin * self.points_per_unit
        half = math.ceil(self.extent * self.points_per_unit / 2 + 0.5)
        return 2 * (half + math.ceil(margin)) + 1


class SteerCNP(AbstractGridProcess[SteerCNPConfig], tag="process/steer-cnp"):
    r"""Conditional neural process of fields over the plane that rotates with its data.

    Density and values of the context on a grid, regular fields of a group convolution (see
    `group_conv`), then at every target a mean and a covariance of its outputs:

    $$ p(y \mid g x, g \mathcal{C}) = p(g^{-1} y \mid x, \mathcal{C}) $$

    for all shifts by cells of the grid and all g of the group, to rounding, and approximately for
    others: of a small process trained on fields with a lengthscale of 2.2 cells, means change by
    4% under a shift by half a cell and by 10% under a rotation by 45 degrees, nats per target by
    0.016 and 0.035 (root mean squares) where 90 degrees change them by 1e-7.

    Targets are independent, and so are samples at different targets. Time and memory are those of
    `num_layers` ordinary convolutions of 4 or 8 times `num_fields` channels on the grid; the two
    set convolutions cost little. Arguments are those of `SteerCNPConfig`, and a `key`.

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
            SetConv(LENGTHSCALE_CELLS * config.spacing, dtype=config.dtype) for _ in range(2)
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
        """A process for fields whose inputs lie in a box, small enough for a CPU.

        The widest range of the inputs has 24 cells, margins a quarter of it; four layers of four
        fields. Two outputs are the components of a vector and others scalars, where no
        `representations` are given.

        Args:
            input_dim: Two.
            output_dim: Number of outputs p.
            extent: Lowest and highest value of every input of a function, in the model's units.
            key: Random key of the parameters.
            **options: Further arguments of the configuration, which go first.

        Returns:
            The untrained process.
        """
        widest = widest_range(extent)
        chosen = {
            "extent": widest,
            "points_per_unit": GRID_CELLS / widest,
            "margin": widest / 4,
            "representations": ("vector",) if output_dim == 2 else ("scalar",) * output_dim,
        }
        return cls(input_dim, output_dim, key=key, **CPU_SIZES | chosen | options)

    def predict(self, xc, yc, context_mask, x, mask, *, key=None) -> BlockGaussian:
        config, p = self.config, self.config.output_dim
        grid = grid_over(config.spacing, config.grid_size, (xc, context_mask), (x, mask))
        encoded = self.encoder.encode(xc, yc, context_mask, grid)
        # From single points to as many as cells the density spans orders of magnitude.
        channels = self._convolve(encoded.at[0].set(jnp.log1p(encoded[0])))
        out = self.decoder.decode(channels, grid, x)
        out = where_covered(out, grid, (xc, context_mask), (x, mask))
        location, log_scale, matrix = jnp.split(out, (p, p + 1), axis=1)
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
