"""pandas: rows of a DataFrame in, a tidy DataFrame out.

Units of columns are those of `frame.attrs["units"]`, a dictionary, if there is one.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from geomndp._missing_columns import check_frame_columns
from geomndp._time_zones import as_utc, frame_is_zoned
from geomndp.tables.variables import Variables


def is_frame(value: Any) -> bool:
    """Whether this is a DataFrame; pandas is not imported to find out."""
    return isinstance(value, getattr(sys.modules.get("pandas"), "DataFrame", ()))


def is_series(value: Any) -> bool:
    """Whether this is a Series."""
    return isinstance(value, getattr(sys.modules.get("pandas"), "Series", ()))


def columns(
    frame: Any, inputs: tuple[str, ...], others: tuple[str, ...] = ()
) -> tuple[dict[str, np.ndarray], dict[str, str], bool | None]:
    """Columns or levels of the index, their units, and whether datetimes of inputs are zoned.

    The last is None without datetimes; a mix of naive and zoned ones is refused.
    """
    found, units = {name: series(frame, name) for name in (*inputs, *others)}, stated_units(frame)
    values = {name: _values(name, column) for name, column in found.items()}
    dates = {name: found[name] for name in inputs if found[name].dtype.kind == "M"}
    zoned = frame_is_zoned(frame, dates) if dates else None
    return values, {name: str(units.get(name, "")) for name in found}, zoned


def attributes(frame: Any) -> dict[str, dict[str, str]]:
    """What a DataFrame says of its columns: their units."""
    units = stated_units(frame)
    return {str(name): {"units": str(units.get(name, ""))} for name in frame.columns}


def check_locations(frame: Any, inputs: tuple[str, ...]) -> None:
    """Rows of a DataFrame are locations, whatever its columns are called."""


def check_same_rows(frame: Any, values: Any, what: str = "noise") -> None:
    """Refuse values with another index than the table's: whose they are is not known then."""
    if (is_series(values) or is_frame(values)) and not values.index.equals(frame.index):
        raise ValueError(
            f"expected {what} with the index of the table, got another; give {what}.to_numpy() for "
            "values in the order of the rows"
        )


def stated_units(frame: Any) -> dict[Any, Any]:
    """Units that a DataFrame states for its columns."""
    units = frame.attrs.get("units") or {}
    if not isinstance(units, dict):
        raise ValueError(
            f"expected frame.attrs['units'] to be a dictionary, got {type(units).__name__}"
        )
    return {name: unit for name, unit in units.items() if unit is not None}


def series(frame: Any, name: str) -> Any:
    """Find one column, or level of the index."""
    check_frame_columns(frame, (name,))
    if name not in frame.columns:
        return frame.index.get_level_values(name).to_series()
    column = frame[name]
    if column.ndim > 1:
        raise ValueError(f"expected one column {name!r}, got {column.shape[1]}")
    return column


def _values(name: str, column: Any) -> np.ndarray:
    from pandas.api import types

    column = as_utc(column)
    if types.is_bool_dtype(column.dtype):
        raise ValueError(f"expected numbers or times in {name!r}, got true and false")
    if types.is_any_real_numeric_dtype(column.dtype):
        return column.to_numpy(dtype=float, na_value=np.nan)
    return column.to_numpy()


def write(frame: Any, variables: Variables, values: np.ndarray) -> Any:
    """Tidy DataFrame of values (s, n, q): one row per sample and location, samples in order."""
    import pandas as pd

    s, n, _ = values.shape
    columns: dict[str, Any] = {"sample": np.repeat(np.arange(s), n)}
    for name in variables.input_names:
        columns[name] = np.tile(series(frame, name).to_numpy(), s)
    for i, name in enumerate(variables.output_names):
        columns[name] = values[:, :, i].reshape(-1)
    result = pd.DataFrame(columns)
    known = {v.name: v.units for v in (*variables.inputs, *variables.outputs) if v.units}
    known |= stated_units(frame)
    # Times need no units.
    units = {n: u for n, u in known.items() if n in result and result[n].dtype.kind not in "mM"}
    result.attrs["units"] = units
    result.attrs["inputs"] = list(variables.input_names)
    return result
