"""Outlines of land, carried by the package: nothing is downloaded.

The data are Natural Earth's 1:110m land in TopoJSON (`land-110m.NOTICE`): rings are joined from
arcs, whose points are differences of whole numbers.
"""

from __future__ import annotations

import functools
import json
from importlib.resources import files
from typing import Any

import numpy as np


@functools.cache
def topology() -> dict[str, Any]:
    """The TopoJSON itself."""
    text = files("geomndp.plot").joinpath("land-110m.json").read_text(encoding="utf-8")
    return json.loads(text)


@functools.cache
def rings() -> tuple[np.ndarray, ...]:
    """Closed outlines (n, 2) of longitude and latitude; longitudes run on past the date line."""
    data = topology()
    scale, shift = (np.asarray(data["transform"][name]) for name in ("scale", "translate"))
    arcs = [np.cumsum(arc, axis=0) * scale + shift for arc in data["arcs"]]
    outlines = []
    for geometry in data["objects"]["land"]["geometries"]:
        for polygon in geometry["arcs"]:
            outlines += [_flat(_join(ring, arcs)) for ring in polygon]
    return tuple(outlines)


def _join(ring, arcs) -> np.ndarray:
    """Points of consecutive arcs; the arc ~i is arc i backwards."""
    pieces = [arcs[i] if i >= 0 else arcs[~i][::-1] for i in ring]
    return np.concatenate([pieces[0], *(part[1:] for part in pieces[1:])])


def _flat(ring: np.ndarray) -> np.ndarray:
    """A ring in the plane: one that goes around the pole is closed along the map's edge."""
    lon, lat = np.unwrap(ring[:, 0], period=360), ring[:, 1]
    if abs(lon[-1] - lon[0]) < 180:
        return np.stack([lon, lat], axis=-1)
    pole = np.sign(lat.mean()) * 90
    lon, lat = np.r_[lon, lon[-1], lon[0]], np.r_[lat, pole, pole]
    return np.stack([lon, lat], axis=-1)
