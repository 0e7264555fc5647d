"""Scalar and tangent fields over the Earth: on a map, and on a globe seen from afar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from geomndp.geometry.geodesy import east_and_north, to_latlon, to_unit
from geomndp.kernels.sphere.zonal import check_unit_vectors
from geomndp.plot.axes import new_axes
from geomndp.plot.land import rings
from geomndp.plot.map import COAST, LAND, RED, TURNS, land_map
from geomndp.plot.read import PlottedFunctions, read_context, read_functions
from geomndp.tables import is_table, latlon_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLACK = "#111111"
STEP = 2.0  # degrees between the points of an outline
EDGES = (-1.05, 1.05)
MARKS = 3e4  # area in points^2 that the marks of all values of a scalar field share


def field_map(
    x: Any,
    samples: Any = None,
    *,
    context: Any = None,
    scale: float | None = None,
    title: str = "",
    ax: Axes | None = None,
    **options: Any,
) -> Axes:
    """Draw a field on a map: arrows for tangent vectors, colours for scalars.

    Args:
        x: Unit vectors (n, 3), or a table of samples at latitudes and longitudes alone.
        samples: East and north components (n, 2) or samples of them (s, n, 2), of which the mean
            is drawn; scalars (n, 1) or (s, n, 1).
        context: Observations in red: a pair (x, y) or a table.
        scale: Degrees of an arrow of length one, by default such that nine of ten arrows are no
            longer than the points' spacing.
        title: Title of the figure.
        ax: Axes to draw on, by default those of a new figure.
        **options: Options of `land_map`.

    Returns:
        The axes.

    Raises:
        ValueError: If there are more than two outputs.
    """
    field, mean = _field(x, samples)
    ax = land_map(ax=ax, **options)
    observed = _context(context, field)
    scale = _scale(mean, 360 / np.pi**0.5) if scale is None else scale
    _draw(ax, *_on_map(field.x, mean), scale)
    if observed is not None:
        _draw(ax, *_on_map(*observed), scale, context=True, like=mean)
    ax.set_title(title)
    return ax


def globe(
    x: Any,
    samples: Any = None,
    *,
    context: Any = None,
    centre: Sequence[float] = (20.0, 0.0),
    scale: float | None = None,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw a field on the globe as seen from afar (orthographic projection).

    Args:
        x: Unit vectors (n, 3), or a table of samples at latitudes and longitudes alone.
        samples: East and north components (n, 2) or samples of them (s, n, 2), of which the mean
            is drawn; scalars (n, 1) or (s, n, 1).
        context: Observations in red: a pair (x, y) or a table.
        centre: Latitude and longitude in degrees of the point in the middle.
        scale: Earth radii of an arrow of length one, by default as for `field_map`.
        title: Title of the figure.
        ax: Axes to draw on, by default those of a new figure.

    Returns:
        The axes: the unit disc, east to the right of its centre and north above.

    Raises:
        ValueError: If there are more than two outputs, or the centre is no location.
    """
    field, mean = _field(x, samples)
    observed = _context(context, field)
    if np.shape(centre) != (2,):
        raise ValueError(f"expected a centre (latitude, longitude) in degrees, got {centre!r}")
    ax = new_axes() if ax is None else ax
    middle = np.asarray(to_unit(*map(float, centre)))
    _land_disc(ax, middle)
    scale = _scale(mean, 2.0) if scale is None else scale
    _draw(ax, *_on_disc(field.x, mean, middle), scale)
    if observed is not None:
        _draw(ax, *_on_disc(*observed, middle), scale, context=True, like=mean)
    ax.set(
        title=title, xticks=[], yticks=[], aspect="equal", xlim=(-1.05, 1.05), ylim=(-1.05, 1.05)
    )
    ax.set_frame_on(False)
    return ax


def _field(x: Any, samples: Any) -> tuple[PlottedFunctions, np.ndarray]:
    """Samples at unit vectors (n, 3), and their mean (n, p)."""
    drawn = read_functions(x, samples, d=2 if samples is None else 3, p=None)
    if drawn.y.shape[2] > 2:
        raise ValueError(f"expected one output or two components, got {drawn.y.shape[2]}")
    if samples is None:
        drawn = drawn._replace(x=_vectors(drawn, latlon_names(x)))
    check_unit_vectors(drawn.x)
    return drawn, drawn.y.mean(axis=0, dtype=float)


def _vectors(drawn: PlottedFunctions, names: tuple[str, ...]) -> np.ndarray:
    degrees = (drawn.x[:, drawn.inputs.index(name)].astype(float) for name in names)
    return np.asarray(to_unit(*degrees))


def _context(context: Any, like: PlottedFunctions) -> tuple[np.ndarray, np.ndarray] | None:
    observed = read_context(context, like, d=3, p=like.y.shape[2])
    if observed is None:
        return None
    if is_table(context):
        observed = observed._replace(x=_vectors(observed, latlon_names(context)))
    return observed.x, observed.y[0]


def _scale(mean: np.ndarray, width: float) -> float:
    """Length of a unit arrow on a picture whose area is about the square of its width."""
    if mean.shape[1] == 1:
        return 1.0
    size = np.quantile(np.linalg.norm(mean, axis=1), 0.9)
    return float(width / np.sqrt(len(mean)) / (size or 1.0))


def _on_map(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Longitudes and latitudes, once for every turn of the map, and the values there."""
    lat, lon = to_latlon(x)
    points = [np.stack([lon + turn, lat], axis=1) for turn in TURNS]
    return np.concatenate(points), np.concatenate([y] * len(TURNS))


def _on_disc(x: np.ndarray, y: np.ndarray, middle: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points of the visible half, and their scalars or projected vectors."""
    frame, seen = east_and_north(middle), x @ middle > 0
    x, y = x[seen], y[seen]
    if y.shape[1] == 2:
        y = np.einsum("na,nad->nd", y, east_and_north(x)) @ frame.T
    return x @ frame.T, y


def _draw(ax, points, values, scale, context: bool = False, like: Any = None) -> None:
    if values.shape[1] == 2:
        arrows = {"angles": "xy", "scale_units": "xy", "scale": 1 / scale}
        style = {"color": RED, "width": 0.005} if context else {"color": BLACK, "width": 0.003}
        ax.quiver(*points.T, *values.T, zorder=3 if context else 2, **arrows, **style)
        return
    limits = values if like is None else like
    colours = {"c": values[:, 0], "vmin": limits.min(), "vmax": limits.max(), "cmap": "viridis"}
    style = {"s": 25, "edgecolor": RED, "zorder": 3} if context else {"lw": 0, "zorder": 1}
    ax.scatter(*points.T, **({"s": MARKS / max(len(points), 1)} | colours | style))


def _land_disc(ax: Axes, middle: np.ndarray) -> None:
    from matplotlib.collections import PolyCollection
    from matplotlib.patches import Circle

    shapes = [shape for ring in rings() if (shape := _outline(ring, middle)) is not None]
    ax.add_collection(
        PolyCollection(shapes, facecolor=LAND, edgecolor=COAST, lw=0.5, zorder=0), autolim=False
    )
    ax.add_patch(Circle((0, 0), 1.0, fill=False, edgecolor=COAST, lw=1.0))


def _outline(ring: np.ndarray, middle: np.ndarray) -> np.ndarray | None:
    """Outline on the disc; what is behind it runs along its edge. None if nothing is seen."""
    length = np.abs(np.diff(ring, axis=0)).max(axis=1)
    share = np.concatenate([[0.0], np.cumsum(np.maximum(length, 1e-9))])
    fine = np.linspace(0, share[-1], int(share[-1] / STEP) + len(ring))
    fine = np.union1d(fine, share)
    lon, lat = (np.interp(fine, share, part) for part in ring.T)
    x = np.asarray(to_unit(np.clip(lat, -90, 90), lon))
    if not np.any(x @ middle > 0):
        return None
    flat = x @ east_and_north(middle).T
    distance = np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-12)
    return np.where((x @ middle > 0)[:, None], flat, flat / distance)
