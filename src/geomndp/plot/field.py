"""Vector fields over the plane as arrows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from geomndp.plot.axes import new_axes
from geomndp.plot.read import read_context, read_functions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, RED = "#1f77b4", "#d62728"


def vector_field(
    x: Any,
    samples: Any = None,
    *,
    context: Any = None,
    scale: float | None = None,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw vectors as arrows, and observed ones in red.

    Args:
        x: Locations (n, 2), or a table of samples alone.
        samples: Vectors (n, 2), or samples (s, n, 2): arrows are then the mean, and a disc at
            the tip of each has the standard deviation as its radius.
        context: Observations: a pair (x, y) or a table.
        scale: Length of a unit vector in units of the locations, by default such that nine of
            ten arrows are no longer than the points' spacing.
        title: Title of the figure.
        ax: Axes to draw on, by default those of a new figure.

    Returns:
        The axes.
    """
    ax = new_axes() if ax is None else ax
    drawn = read_functions(x, samples, d=2, p=2)
    locations, mean = drawn.x.astype(float), drawn.y.mean(axis=0, dtype=float)
    scale = arrow_scale(locations, mean) if scale is None else scale
    arrows = {"angles": "xy", "scale_units": "xy", "scale": 1 / scale}
    ax.quiver(*locations.T, *mean.T, color=BLUE, width=0.004, **arrows)
    if len(drawn.y) > 1:
        spread = np.sqrt(drawn.y.var(axis=0, ddof=1, dtype=float).mean(axis=1))
        _discs(ax, locations + scale * mean, scale * spread)
    observed = read_context(context, drawn, d=2, p=2)
    if observed is not None:
        ax.quiver(*observed.x.T, *observed.y[0].T, color=RED, width=0.005, zorder=3, **arrows)
        ax.plot(*observed.x.T, "o", color=RED, ms=3, zorder=3, label="observed")
    ax.set(title=title, xticks=[], yticks=[], aspect="equal")
    ax.margins(0.08)
    return ax


def _discs(ax: Axes, centres: np.ndarray, radii: np.ndarray) -> None:
    from matplotlib.collections import EllipseCollection

    sizes = {"widths": 2 * radii, "heights": 2 * radii, "angles": np.zeros_like(radii)}
    where = {"units": "xy", "offsets": centres, "offset_transform": ax.transData}
    style = {"facecolor": BLUE, "alpha": 0.15, "lw": 0, "zorder": 0}
    ax.add_collection(EllipseCollection(**sizes, **where, **style), autolim=False)


def arrow_scale(x: Any, y: Any) -> float:
    """Length of a unit vector that makes most arrows about as long as the points' spacing.

    Args:
        x: Locations (n, 2).
        y: Vectors (n, 2), or samples (s, n, 2).

    Returns:
        The `scale` of `vector_field`.
    """
    drawn = read_functions(x, y, d=2, p=2)
    spacing = 1.0
    if len(drawn.x) > 1:
        spacing = np.sqrt(np.prod(np.ptp(drawn.x.astype(float), axis=0)) / len(drawn.x))
    size = np.quantile(np.linalg.norm(drawn.y.mean(axis=0), axis=1), 0.9)
    return float((spacing or 1.0) / (size or 1.0))
