"""Share of land around the points of a grid, from the outlines that the package carries."""

from __future__ import annotations

import numpy as np

from geomndp._types import Bool, Float
from geomndp.plot.land import rings


def land_share(step: int = 3) -> Float[np.ndarray, "r c"]:
    """Share of land on a grid, of odd steps in degrees, poles included.

    Args:
        step: Degrees between neighbours; a share is that of step^2 points, one degree apart.

    Returns:
        Rows from the south pole to the north pole, columns eastwards from 180 degrees west.
    """
    lat, half = np.arange(-90, 91), step // 2
    land = np.stack([_on_land(float(row)) for row in lat]).astype(float)
    land = np.pad(np.pad(land, ((0, 0), (half, half)), "wrap"), ((half, half), (0, 0)), "edge")
    shape = (len(lat), 360)
    near = [land[i : i + shape[0], j : j + shape[1]] for i in range(step) for j in range(step)]
    share = np.mean(near, axis=0)[::step, ::step]
    share[[0, -1]] = share[[0, -1]].mean(axis=1, keepdims=True)
    return share


def _on_land(lat: float) -> Bool[np.ndarray, " c"]:
    """Whether points of a parallel, one degree apart, lie within an odd number of outlines."""
    lat = np.clip(lat, -89.9, 89.9) + 1e-6  # off the corners
    inside = np.zeros(360, dtype=bool)
    for ring in rings():
        (lon1, lat1), (lon2, lat2) = ring[:-1].T, ring[1:].T
        cut = (lat1 <= lat) != (lat2 <= lat)
        share = (lat - lat1[cut]) / (lat2 - lat1)[cut]
        crossings = np.sort(lon1[cut] + share * (lon2 - lon1)[cut])
        for turn in (-360, 0, 360):  # outlines run on past the date line
            inside ^= np.searchsorted(crossings, np.arange(-180, 180) + turn) % 2 == 1
    return inside
