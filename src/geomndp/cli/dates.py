"""Times of a range as datetimes."""

from __future__ import annotations

from typing import Any

import numpy as np

from geomndp.tables import Variables
from geomndp.tables.units import SECONDS, split_time


def on_dates(places: Any, variables: Variables, origin: str | None) -> Any:
    """Turn the times of a grid from numbers into the datetimes that the observations have."""
    for variable in variables.inputs:
        unit, date = split_time(variable.units)
        if origin is None or not unit or date is not None:
            continue
        place = places[variable.name]
        if place.dtype.kind not in "mM" and not place.attrs.get("units"):
            past = np.rint(place.values * SECONDS[unit] * 1e6).astype("timedelta64[us]")
            dated = np.datetime64(origin, "us") + past
            places = places.assign_coords({variable.name: (place.dims, dated)})
    return places
