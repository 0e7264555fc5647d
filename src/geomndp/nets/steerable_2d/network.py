r"""O(2)-equivariant message passing for fields over the plane, native in circular harmonics."""

from __future__ import annotations

import copy
import dataclasses
import math
from typing import Any

import equinox as eqx

from geomndp._arrays import bucket_length
from geomndp._deprecated import renamed_arguments
from geomndp._types import Inputs, Mask, PRNGKeyArray
from geomndp.nets.relative_attention import check_backend
from geomndp.nets.steerable_2d.circular_config import CircularNetConfig
from geomndp.nets.steerable_2d.circular_network import AbstractCircularNet, Surface
from geomndp.nets.steerable_2d.fourier_sums import FourierLayout
from geomndp.nets.steerable_2d.gaussian_pooling import planar_pairs, pooling_widths
from geomndp.nets.steerable_2d.pooling_layouts import PoolingLayouts, pooling_layouts


@renamed_arguments(
    kinds="representations",
    side_dim="num_invariant_inputs",
    num_scales="num_pooling_widths",
    implementation="attention_backend",
)
@dataclasses.dataclass(frozen=True, kw_only=True)
class Steerable2Config(CircularNetConfig):
    """Hyperparameters of `Steerable2`: those of `CircularNetConfig`, and some of its own.

    Args:
        num_invariant_inputs: Further columns of x, after the two of the plane, that do not rotate
            with it: covariates (height, land or sea, or the location itself, which breaks the
            symmetry softly).
        num_heads: Attention heads over all points, in time and memory quadratic in the points; zero
            for none. They divide `channels`.
        attention_backend: `implementation` of jax.nn.dot_product_attention.
    """

    num_heads: int = 0
    attention_backend: str | None = None

    def __post_init__(self):
        super().__post_init__()
        self._divides_channels("num_heads")
        if self.attention_backend is not None:
            check_backend(self.compute_dtype, self.attention_backend)


class Steerable2(AbstractCircularNet[Steerable2Config], tag="net/steerable-2d"):
    r"""Complex channels of angular orders 0, 1, 2 on a radius graph, for values of any type.

    Rotations multiply channels of order m by a phase, reflections conjugate them, and every layer
    commutes with both. Everything that depends on the inputs alone (graph, angles, radial weights)
    is computed once for all functions that share them under `vmap`. Arguments are those of
    `Steerable2Config`.

    Example:
        `net = gn.nets.Steerable2(("scalar", "vector"), radius=2.0, key=jr.key(0))`
    """

    layouts: PoolingLayouts = eqx.field(static=True)
    """How pooling sums over many points, none for few: see `with_room`."""

    def __init__(self, *args: Any, key: PRNGKeyArray, **options: Any):
        super().__init__(*args, key=key, **options)
        self.layouts = ()

    def with_room(self, point_sets: tuple, masks: tuple) -> Steerable2:
        """The network with room for these points: see `AbstractGraphNet.with_room`.

        Pooling over many concrete points does not compare all pairs, and errs by at most
        1e-5 of the largest feature: see `pooling_layouts`.
        """
        net = super().with_room(point_sets, masks)
        assert isinstance(net, Steerable2)
        config = self.config
        layouts: PoolingLayouts = ()
        if config.num_pooling_widths:
            widths = pooling_widths(config.radius, config.num_pooling_widths)
            layouts = pooling_layouts(point_sets, masks, widths, config.angular_pooling)
        return net._with_layouts(layouts)

    def with_extent(self, extent: float) -> Steerable2:
        """The network whose Fourier series, if it has any, serve points that extend so far.

        Or a half, a quarter, ... as far where its own points extend less: coefficients are as many
        as the square.
        """

        def widened(own: float) -> float:
            wide = max(bucket_length(extent), own)
            return wide / 2 ** math.floor(math.log2(wide / own))

        layouts = tuple(
            FourierLayout(widened(part.extent)) if isinstance(part, FourierLayout) else part
            for part in self.layouts
        )
        return self._with_layouts(layouts)

    def _with_layouts(self, layouts: PoolingLayouts) -> Steerable2:
        if layouts == self.layouts:
            return self
        net = copy.copy(self)
        object.__setattr__(net, "layouts", layouts)
        return net

    def _surface(self, x: Inputs, mask: Mask) -> Surface:
        return Surface(self.graph(x, mask), x[:, :2], planar_pairs, layouts=self.layouts)
