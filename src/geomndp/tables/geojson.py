"""Samples as GeoJSON (RFC 7946): tracks on the Earth as lines, everything else as points."""

from __future__ import annotations

from typing import Any

import numpy as np

from geomndp._time_zones import as_utc, states_utc
from geomndp.geometry.geodesy import to_latlon, to_unit, wrap_longitude
from geomndp.tables.to_arrays import latlon_names
from geomndp.tables.variables import LATITUDE, LONGITUDE, Variables, canonical
from geomndp.tables.xarray_adapter import as_frame

DIGITS = 5  # of degrees: about a metre
SAMPLE = "sample"


def features(dataset: Any, inputs: tuple[str, ...]) -> list[dict]:
    """Features of a Dataset of samples or of their summary.

    Tracks are one line per sample, cut at the date line. Otherwise every row is a point, at its
    longitude and latitude where it has them, else at its two inputs.
    """
    try:
        lat, lon = latlon_names(dataset)
    except ValueError:
        lat, lon = "", ""
    if lat not in dataset.data_vars or lon not in dataset.data_vars:
        return _points(dataset, lat, lon, inputs)
    if SAMPLE not in dataset.dims:
        return [_line(dataset, lat, lon, {SAMPLE: "mean"}), *_points(dataset, lat, lon, inputs)]
    numbers = range(dataset.sizes[SAMPLE])
    return [_line(dataset.isel({SAMPLE: i}), lat, lon, {SAMPLE: i}) for i in numbers]


def check_points(variables: Variables) -> None:
    """Raise ValueError unless the functions of a model can be drawn on a map."""
    latlon = {LATITUDE, LONGITUDE}
    for part in (variables.inputs, variables.outputs):
        if latlon <= {canonical(variable.units) for variable in part}:
            return
    if len(variables.inputs) != 2:
        got = ", ".join(map(repr, variables.input_names))
        raise ValueError(
            f"expected latitudes and longitudes or two inputs for a .geojson, got the input {got}"
        )


def cut(lat: np.ndarray, lon: np.ndarray) -> list[np.ndarray]:
    """Segments (n, 2) of a track, longitude first, none of which crosses the date line.

    Where a great circle crosses it, segments end and begin on either side of it.
    """
    lon = np.asarray(wrap_longitude(lon))
    positions = np.stack([lon, lat], axis=1)
    segments, start = [], 0
    for i in np.flatnonzero(np.abs(np.diff(lon)) > 180):
        a, b = to_unit(lat[i : i + 2], lon[i : i + 2])
        # The chord meets the plane of the date line where its second coordinate is zero.
        share = a[1] / (a[1] - b[1])
        at = float(to_latlon(a + share * (b - a))[0])
        side = 180.0 if lon[i] > 0 else -180.0
        segments.append(np.concatenate([positions[start : i + 1], [[side, at]]]))
        positions[i], start = [-side, at], i
    return [*segments, positions[start:]]


def _line(track: Any, lat: str, lon: str, properties: dict) -> dict:
    degrees = (track[name].values.ravel().astype(float) for name in (lat, lon))
    segments = [np.round(part, DIGITS).tolist() for part in cut(*degrees)]
    inputs = {str(n): _plain(c.values.ravel(), c) for n, c in track.coords.items() if c.dims}
    if len(segments) > 1:
        geometry = {"type": "MultiLineString", "coordinates": segments}
    elif len(segments[0]) == 1:
        geometry = {"type": "Point", "coordinates": segments[0][0]}
    else:
        geometry = {"type": "LineString", "coordinates": segments[0]}
    return {"type": "Feature", "geometry": geometry, "properties": {**properties, **inputs}}


def _points(dataset: Any, lat: str, lon: str, inputs: tuple[str, ...]) -> list[dict]:
    frame = as_frame(dataset)
    if lat not in frame or lon not in frame:
        lon, lat = inputs
    where = np.round(frame[[lon, lat]].to_numpy(float), DIGITS).tolist()
    columns = {
        name: _plain(as_utc(frame[name]).to_numpy(), dataset[name])
        for name in frame
        if name not in (lat, lon)
    }
    return [
        {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": position},
            "properties": {name: values[i] for name, values in columns.items()},
        }
        for i, position in enumerate(where)
    ]


def _plain(values: np.ndarray, variable: Any) -> list:
    """Numbers or text that JSON knows, of the values of a variable."""
    if values.dtype.kind == "M":
        zone = "Z" if states_utc(variable) else ""
        return [f"{text}{zone}" for text in np.datetime_as_string(values, unit="s")]
    if values.dtype.kind == "m":
        return (values / np.timedelta64(1, "s")).tolist()
    return values.tolist()
