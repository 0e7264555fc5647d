"""How pooling sums over the points of a request: all pairs, Fourier series or cells."""

from __future__ import annotations

import numpy as np

from geomndp._validation import concrete
from geomndp.nets.graph_network import present_rows
from geomndp.nets.steerable_2d.cell_layout import CellLayout, cell_layout
from geomndp.nets.steerable_2d.fourier_sums import FourierLayout, fourier_layout

MOST_PAIRS = 768  # points up to which all pairs are compared, whatever their locations
MOST_COMPARED = 4096  # likewise where a Fourier series does not do
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
