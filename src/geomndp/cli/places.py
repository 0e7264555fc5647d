"""Where to predict: `--at` as a table of places."""

from __future__ import annotations

from typing import Any

import numpy as np

from geomndp.cli.files import is_file, read_table
from geomndp.tables import Variables
from geomndp.tables.units import SECONDS, split_time

PLACE = "place"
MOST = 1_000_000
FORMS = "start:stop:step, start:stop:30pts, numbers or, for datetimes, start/stop/6h"


def read_places(at: tuple[str, ...], variables: Variables, renamed: dict[str, str]) -> Any:
    """Dataset of the places: those of a file, or the grid that ranges of the inputs span."""
    if len(at) == 1 and is_file(at[0]):
        table = rename(read_table(at[0]), renamed, strict=False)
        return _as_dataset(table, variables) if type(table).__name__ == "DataFrame" else table
    import xarray as xr

    names = variables.input_names
    spans = dict(_named(text, names) for text in at)
    if set(spans) != set(names) or len(spans) < len(at):
        example = " ".join(f"{name}=0:1:0.1" for name in names)
        raise ValueError(f"expected --at FILE or --at {example}, got {' '.join(at) or 'nothing'}")
    places = {name: numbers(spans[name]) for name in names}
    if np.prod([float(values.size) for values in places.values()]) > MOST:
        raise ValueError(f"expected at most {MOST} places, got more from --at {' '.join(at)}")
    return xr.Dataset(coords=places)


def parse_columns(columns: tuple[str, ...], variables: Variables) -> dict[str, str]:
    """The model's names by those of a file, from "lat=LAT"."""
    known = (*variables.input_names, *variables.output_names)
    found = {}
    for text in columns:
        name, equals, column = text.partition("=")
        if not equals or not column or name not in known:
            listed = ", ".join(known)
            raise ValueError(f"expected --columns NAME=COLUMN for {listed}, got {text!r}")
        found[column] = name
    return found


def rename(table: Any, renamed: dict[str, str], *, strict: bool = True) -> Any:
    """Give the model's names to the columns of a table; others of these names are dropped."""
    have = set(table.columns if type(table).__name__ == "DataFrame" else table.variables)
    if missing := [name for name in renamed if name not in have]:
        if strict:
            listed = ", ".join(map(repr, sorted(map(str, have))))
            raise ValueError(f"expected a column {missing[0]!r} as --columns says, got {listed}")
        renamed = {old: new for old, new in renamed.items() if old in have}
    hidden = [name for name in renamed.values() if name in have and name not in renamed]
    if type(table).__name__ != "DataFrame":
        return table.drop_vars(hidden).rename(renamed)
    units = {renamed.get(name, name): text for name, text in table.attrs.get("units", {}).items()}
    result = table.drop(columns=hidden).rename(columns=renamed)
    result.attrs = {**table.attrs, "units": units}
    return result


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


def numbers(text: str) -> np.ndarray:
    """Numbers or datetimes of one input."""
    try:
        if text.count("/") == 2:
            import pandas as pd

            start, stop, step = text.split("/")
            return pd.date_range(start, stop, freq=step).to_numpy()
        if ":" not in text:
            return np.array([float(part) for part in text.split(",")])
        start, stop, step = text.split(":")
        first, last = float(start), float(stop)
        if step.endswith("pts"):
            return np.linspace(first, last, int(step.removesuffix("pts")))
        count = np.floor((last - first) / float(step) + 1e-9) + 1
    except (ValueError, ZeroDivisionError) as error:
        raise ValueError(f"expected a range ({FORMS}), got {text!r}") from error
    if not 1 < count <= MOST:
        raise ValueError(
            f"expected start:stop:step with 2 to {MOST} steps, or start:stop:30pts for 30 points, "
            f"got {text!r}"
        )
    return first + float(step) * np.arange(int(count))


def _named(text: str, names: tuple[str, ...]) -> tuple[str, str]:
    name, equals, span = text.partition("=")
    if not equals and len(names) == 1:
        return names[0], text
    return name, span


def _as_dataset(frame: Any, variables: Variables) -> Any:
    """Places of a DataFrame: along its only input, or one after the other; other columns follow."""
    import xarray as xr

    names = variables.input_names
    if missing := [name for name in names if name not in frame]:
        listed = ", ".join(map(repr, frame.columns)) or "none"
        raise ValueError(f"expected a column {missing[0]!r} in --at, got {listed}")
    if not len(frame):
        raise ValueError("expected at least one place in --at, got none")
    dim = names[0] if len(names) == 1 else PLACE
    units = frame.attrs.get("units", {})
    coords = {
        name: (dim, frame[name].to_numpy(), {"units": units[name]} if name in units else {})
        for name in frame
        if name not in (*variables.output_names, "sample")
    }
    return xr.Dataset(coords=coords)
