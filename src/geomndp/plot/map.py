"""Tracks on a map of the Earth: longitude and latitude as they are, land in grey."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from geomndp.geometry.geodesy import to_latlon, to_unit
from geomndp.plot.axes import new_axes
from geomndp.plot.land import rings
from geomndp.plot.read import plain_array, read_functions, read_observed, read_values
from geomndp.tables import is_table, latlon_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, GREEN, RED, LAND, COAST = "#1f77b4", "#2ca02c", "#d62728", "#e8e6e1", "#a8a49c"
TURNS = (-360, 0, 360)


def land_map(
    *,
    central_longitude: float = 180.0,
    extent: Sequence[float | int] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw an empty map of the Earth, or of a part of it.

    Args:
        central_longitude: Longitude of the centre in degrees.
        extent: West, east, south, north in degrees; longitudes may run past 180.
        ax: Axes to draw on, by default those of a new figure.

    Returns:
        The axes.

    Raises:
        ValueError: If the extent is none.
    """
    from matplotlib.collections import PolyCollection

    ax = new_axes() if ax is None else ax
    if extent is None:
        extent = (central_longitude - 180, central_longitude + 180, -90, 90)
        first = np.ceil(extent[0] / 60) * 60
        ax.set(xticks=first + 60 * np.arange(7), yticks=30.0 * np.arange(-2, 3))
    west, east, south, north = map(float, extent)
    if not (west < east <= west + 360 + 1e-6 and -90 <= south < north <= 90):
        raise ValueError(f"expected an extent (west, east, south, north) in degrees, got {extent}")
    shapes = [ring + np.array([turn, 0]) for ring in rings() for turn in (*TURNS, -720, 720)]
    ax.add_collection(
        PolyCollection(shapes, facecolor=LAND, edgecolor=COAST, lw=0.5, zorder=0), autolim=False
    )
    ax.set(xlim=(west, east), ylim=(south, north))
    ax.set_aspect(1 / max(np.cos(np.radians((south + north) / 2)), 0.2))
    ax.xaxis.set_major_formatter(lambda lon, _: _degrees((lon + 180) % 360 - 180, "E", "W"))
    ax.yaxis.set_major_formatter(lambda lat, _: _degrees(lat, "N", "S"))
    ax.tick_params(labelsize="small")
    return ax


def _degrees(value: float, positive: str, negative: str) -> str:
    letter = "" if value in (0, -180) else positive if value > 0 else negative
    return f"{abs(value):g}°{letter}"


def _lines(ax, y, **style):
    """Draw paths (s, n, 3) without a break at the date line, wherever the map shows them."""
    from matplotlib.collections import LineCollection

    lat, lon = to_latlon(np.asarray(y, dtype=float))
    path = np.stack([np.unwrap(lon, period=360, axis=-1), lat], axis=-1)
    label = style.pop("label", None)
    lines = LineCollection([one + np.array([turn, 0]) for one in path for turn in TURNS], **style)
    lines.set_label(label)
    ax.add_collection(lines, autolim=False)


def track_map(
    samples: Any, *, colors: Any = None, title: str = "", ax: Axes | None = None, **options: Any
) -> Axes:
    """Draw tracks, data or samples, on a map.

    Args:
        samples: Tracks (s, n, 3) as unit vectors, or a table of samples of locations.
        colors: One value per track, such as its season.
        title: Title of the figure.
        ax: Axes to draw on, by default those of a new figure.
        **options: Options of `land_map`.

    Returns:
        The axes.
    """
    y = _tracks(samples)
    ax = land_map(ax=ax, **options)
    style: dict = {"color": BLUE}
    if colors is not None:
        style = {"array": np.repeat(np.asarray(colors, dtype=float), len(TURNS))}
    _lines(ax, y, lw=0.5, alpha=0.6, **style)
    ax.set_title(title)
    return ax


def fan_map(
    x: Any,
    samples: Any = None,
    *,
    context: Any,
    truth: Any = None,
    margin: float = 4.0,
    title: str = "",
    ax: Axes | None = None,
    **options: Any,
) -> Axes:
    """Draw forecast tracks from their context, and the truth.

    Args:
        x: Times (k,), or a table of samples alone.
        samples: Forecasts (s, k, 3) as unit vectors.
        context: Observed fixes: a pair (times, unit vectors) or a table.
        truth: Unit vectors (k, 3), or a table at the times of the samples.
        margin: Degrees around the tracks that the map shows, unless an `extent` is given.
        title: Title of the figure.
        ax: Axes to draw on, by default those of a new figure.
        **options: Options of `land_map`.

    Returns:
        The axes: blue is the context, red are samples, green is the truth.
    """
    times, paths = _forecast(x, samples)
    known_times, known = _known(context, x if samples is None else None)
    order = np.argsort(np.r_[known_times, times], kind="stable")
    start = np.broadcast_to(known[None], (len(paths), *known.shape))
    paths = np.concatenate([start, paths], axis=1)[:, order]
    if is_table(truth):
        truth = _true(truth, x if samples is None else None, times)
    true_track = None if truth is None else np.concatenate([known, np.asarray(truth)])[order]
    options.setdefault(
        "extent", _extent(paths if true_track is None else [*paths, true_track], margin)
    )
    ax = land_map(ax=ax, **options)
    _lines(ax, paths, color=RED, lw=0.7, alpha=0.5, label="samples")
    if true_track is not None:
        _lines(ax, true_track[None], color=GREEN, lw=1.8, label="truth")
    lat, lon = to_latlon(known)
    for turn in TURNS:
        label = "observed" if turn == 0 else None
        ax.plot(lon + turn, lat, "o", color=BLUE, ms=3, label=label, zorder=3)
    ax.set_title(title)
    return ax


def _tracks(samples: Any) -> np.ndarray:
    """Unit vectors (s, n, 3) of samples."""
    if is_table(samples):
        return np.asarray(to_unit(*np.moveaxis(read_values(samples), -1, 0)))
    y = plain_array("tracks", samples).astype(float)
    if y.ndim != 3 or y.shape[-1] != 3:
        raise ValueError(f"expected tracks of shape (s, n, 3), got shape {y.shape}")
    return y


def _forecast(x: Any, samples: Any) -> tuple[np.ndarray, np.ndarray]:
    """Times (k,) and unit vectors (s, k, 3)."""
    if samples is None:
        drawn = read_functions(x, None, d=1, p=2)
        return drawn.x[:, 0], _tracks(x)
    times, y = np.asarray(x).reshape(-1), np.asarray(samples, dtype=float)
    if y.ndim != 3 or y.shape[1:] != (len(times), 3):
        expected = f"(s, {len(times)}, 3)"
        raise ValueError(f"expected samples of shape {expected}, got shape {y.shape}")
    return times, y


def _known(context: Any, samples: Any) -> tuple[np.ndarray, np.ndarray]:
    """Times (c,) and unit vectors (c, 3) of what is known."""
    if not is_table(context):
        times, y = context
        return np.asarray(times).reshape(-1), np.asarray(y, dtype=float)
    if samples is None:
        raise ValueError("expected a context as arrays (times, points) with samples as arrays")
    drawn = read_functions(samples, None, d=1, p=2)
    columns = read_observed(context, drawn)
    times, lat, lon = (columns[name] for name in (*drawn.inputs, *latlon_names(samples)))
    return times, np.asarray(to_unit(lat, lon))


def _true(truth: Any, samples: Any, times: np.ndarray) -> np.ndarray:
    """Unit vectors (k, 3) of a table of what came, at the times of the samples."""
    when, y = _known(truth, samples)
    if not np.array_equal(when, times):
        raise ValueError("expected the truth at the times of the samples, got other times")
    return y


def _extent(paths, margin: float) -> tuple[float, float, float, float]:
    """Box around most of the paths, square enough to be read."""
    lat, lon = to_latlon(np.asarray(paths))
    lon = np.unwrap(lon, period=360, axis=-1)
    # All paths start at one point, but each is unwrapped by itself.
    lon = lon - 360 * np.round((lon[:, :1] - lon[0, 0]) / 360)
    west, east = np.quantile(lon, [0.005, 0.995])
    south, north = np.quantile(lat, [0.005, 0.995])
    centre, half = (west + east) / 2, max(east - west, north - south) / 2 + margin
    half = min(half, 180.0)
    return centre - half, centre + half, max(south - margin, -90), min(north + margin, 90)
