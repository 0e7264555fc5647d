"""How pooling sums over the points of a request: all pairs, Fourier series or cells."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from geomndp._arrays import chunk_scale
from geomndp._types import Array, Float, Inputs, Mask
from geomndp._validation import concrete
from geomndp.nets.graph_network import present_rows
from geomndp.nets.steerable_2d.cell_layout import CellLayout, cell_layout
from geomndp.nets.steerable_2d.fourier_sums import (
    FourierLayout,
    FourierSums,
    fourier_layout,
    fourier_sums,
)
from geomndp.nets.steerable_2d.gauss_transform import GaussianSums, find_cells, kept_numbers

MOST_PAIRS = 768  # points up to which all pairs are compared, whatever their locations
MOST_COMPARED = 4096  # likewise where a Fourier series does not do
MOST_NUMBERS = 2**27
"""Moments of cells that an accelerator keeps at once, for each 8 GiB of its memory."""
PoolingLayouts = tuple[CellLayout | FourierLayout, ...]


def pooling_layouts(
    point_sets: tuple, masks: tuple, widths: np.ndarray, angular: bool
) -> PoolingLayouts:
    """A layout per width for many points, none for few.

    There is none either where averages would not be right to the `TOLERANCE` of cells or series,
    where JAX traces the points, and where masks tell several functions apart, whose points do not
    see each other.

    Args:
        point_sets: Sets of points (n, d) of one function.
        masks: One mask (n,) per set, zero for padding, or None.
        widths: Widths (H,) of the pooling.
        angular: Whether angular moments are taken too.
    """
    fewest = min(MOST_PAIRS, MOST_COMPARED)
    if sum(map(len, point_sets)) <= fewest or not all(map(concrete, (*point_sets, *masks))):
        return ()
    if any(np.any(np.asarray(mask) > 1) for mask in masks if mask is not None):
        return ()
    pairs = zip(point_sets, masks, strict=True)
    points = np.concatenate([present_rows(x, m)[:, :2] for x, m in pairs])
    if len(points) > MOST_PAIRS:
        series = fourier_layout(points, widths, angular)
        if series is not None:
            return (series,) * len(widths)
    if len(points) <= MOST_COMPARED:
        return ()
    layouts = [cell_layout(points, width, angular) for width in widths]
    known = tuple(layout for layout in layouts if layout is not None)
    return known if len(known) == len(widths) else ()


class SumPooling(eqx.Module):
    """Averages as quotients of sums, of which each width has its own."""

    sums: list[FourierSums | GaussianSums]
    shares: Float[Array, "n h"]
    dtype: jnp.dtype = eqx.field(static=True)

    def __call__(self, features: Float[Array, "n f h c"]) -> Float[Array, "k f n h c"]:
        """Average, with all moments."""
        n, f, h, c = features.shape
        if self._in_turn(f * c):  # one part after the other: less memory
            parts = jax.lax.map(self._means, jnp.moveaxis(features, 1, 0))
            return jnp.swapaxes(parts, 0, 1)
        averaged = self._means(jnp.swapaxes(features, 1, 2).reshape(n, h, f * c))
        return jnp.moveaxis(averaged.reshape(*averaged.shape[:3], f, c), 3, 1)

    def _in_turn(self, channels: int) -> bool:
        cells = [part for part in self.sums if isinstance(part, GaussianSums)]
        most = MOST_NUMBERS * chunk_scale()
        large = any(channels * kept_numbers(part.layout, part.angular) > most for part in cells)
        return large or (bool(cells) and chunk_scale() == 1)

    def _means(self, features: Float[Array, "n h c"]) -> Float[Array, "k n h c"]:
        dtype = self.shares.dtype
        parts = [s(features[:, h].astype(dtype)) for h, s in enumerate(self.sums)]
        return (jnp.stack(parts, axis=2) * self.shares[None, :, :, None]).astype(self.dtype)


def pooling_by_sums(
    x: Inputs,
    mask: Mask,
    widths: np.ndarray,
    dtype: jnp.dtype,
    angular: bool,
    layouts: PoolingLayouts,
) -> tuple[Float[Array, "n h"], SumPooling]:
    """What `gaussian_pooling` returns, by Fourier series or cells.

    Args:
        x: Locations (n, 2).
        mask: (n,), 1 for points and 0 for padding.
        widths: Widths (H,) of the pooling.
        dtype: Dtype of the averages.
        angular: Whether to take angular moments too.
        layouts: One per width.
    """
    # A product with a single vector adds point after point, and rounds five times as much.
    sums, ones = [], jnp.ones((len(x), 2), x.dtype)
    for width, layout in zip(widths, layouts, strict=True):
        if isinstance(layout, FourierLayout):
            sums.append(fourier_sums(x, mask, width, layout, angular))
        else:
            cells = find_cells(x, mask, width, layout)
            sums.append(GaussianSums(cells, width, layout, angular))
    present = (mask > 0)[:, None]
    totals = jnp.stack([total(ones)[0, :, 0] for total in sums], axis=1)
    totals = jnp.where(present, totals, 0.0)
    shares = jnp.where(present, 1 / jnp.maximum(totals, 1e-6), 0.0)
    return totals, SumPooling(sums, shares, dtype)
