"""xarray: variables over any dimensions in, a Dataset with a dimension `sample` out."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from geomndp._missing_columns import check_variables
from geomndp._time_zones import dataset_is_zoned, states_utc
from geomndp.tables.units import SECONDS, split_time
from geomndp.tables.variables import Variable, Variables

SAMPLE = "sample"
CONVENTIONS = "CF-1.11"


def is_dataset(value: Any) -> bool:
    """Whether this is a Dataset; xarray is not imported to find out."""
    return isinstance(value, getattr(sys.modules.get("xarray"), "Dataset", ()))


def is_data_array(value: Any) -> bool:
    """Whether this is a DataArray."""
    return isinstance(value, getattr(sys.modules.get("xarray"), "DataArray", ()))


def as_dataset(table: Any) -> Any:
    """Take a Dataset, or make one of a DataArray that has a name."""
    if is_data_array(table) and table.name is not None:
        # A coordinate stands for its locations.
        same = table.name in table.coords
        return table.coords.to_dataset() if same else table.to_dataset()
    if not is_dataset(table):
        got = f"a {type(table).__name__}" + " without a name" * is_data_array(table)
        raise ValueError(f"expected a DataFrame, a Dataset or arrays, got {got}")
    return table


def attributes(table: Any) -> dict[str, dict[str, Any]]:
    """Attributes of the variables of a Dataset, or of the coordinates of a DataArray."""
    variables = getattr(table, "variables", getattr(table, "coords", {}))
    return {str(name): dict(array.attrs) for name, array in variables.items()}


def variable(dataset: Any, name: str) -> Any:
    """Find a variable or coordinate."""
    check_variables(dataset, (name,))
    if not isinstance(dataset[name].dtype, np.dtype):  # of pandas: periods, nullable numbers, ...
        raise ValueError(f"expected numbers or times in {name!r}, got {dataset[name].dtype}")
    _check_decoded(name, dataset[name])
    return dataset[name]


def _check_decoded(name: str, array: Any) -> None:
    """Refuse values as a file packs them: what marks a missing one is no number of the data."""
    attributes = array.attrs
    packed = {key: attributes[key] for key in ("scale_factor", "add_offset") if key in attributes}
    if packed.get("scale_factor", 1) != 1 or packed.get("add_offset", 0) != 0:
        listed = ", ".join(f"{key}={value}" for key, value in packed.items())
        raise ValueError(f"expected decoded values in {name!r} (xarray.decode_cf), got {listed}")
    for key in ("_FillValue", "missing_value"):
        fill = attributes.get(key)
        if fill is not None and array.dtype.kind in "fiu" and np.isin(array.values, fill).any():
            raise ValueError(
                f"expected NaN for missing values in {name!r} (xarray.decode_cf), got the fill "
                f"value {fill} of its attribute {key}"
            )


def columns(
    table: Any, inputs: tuple[str, ...], others: tuple[str, ...] = ()
) -> tuple[dict[str, np.ndarray], dict[str, str], bool | None]:
    """Variables at all locations that the inputs span together, in the order of their dimensions.

    Inputs on different dimensions make a grid; every other variable has those dimensions. The last
    is whether datetimes of inputs are stated to be in UTC, None where nothing is stated.
    """
    import xarray as xr

    dataset = as_dataset(table)
    spanned = xr.broadcast(*(variable(dataset, name) for name in inputs))
    values = {name: array.values.reshape(-1) for name, array in zip(inputs, spanned, strict=True)}
    dims = spanned[0].dims
    for name in others:
        array = variable(dataset, name)
        if set(array.dims) != set(dims):
            raise ValueError(
                f"expected {name!r} over the dimensions {dims} of the inputs, got {array.dims}"
            )
        values[name] = array.transpose(*dims).values.reshape(-1)
    units = {name: stated_units(dataset[name]) for name in values}
    return values, units, dataset_is_zoned(dataset, inputs)


def spanned_shape(table: Any, inputs: tuple[str, ...]) -> dict[str, int]:
    """Sizes of the dimensions that the inputs span together, in the order of `columns`."""
    import xarray as xr

    dataset = as_dataset(table)
    spanned = xr.broadcast(*(variable(dataset, name) for name in inputs))[0]
    return {str(dim): int(size) for dim, size in spanned.sizes.items()}


def check_locations(table: Any, inputs: tuple[str, ...]) -> None:
    """Refuse locations that have the dimension of the samples to come."""
    dataset = as_dataset(table)
    dims = [dim for name in inputs for dim in variable(dataset, name).dims]
    if SAMPLE in dims:
        raise ValueError(f"expected locations without a dimension {SAMPLE!r}, got {tuple(dims)}")


def check_same_rows(table: Any, values: Any, what: str = "noise") -> None:
    """Refuse values at other coordinates than the table's: whose they are is not known then."""
    if not is_data_array(values):
        return
    dataset = as_dataset(table)
    for name in values.dims:
        known = name in values.indexes and name in dataset.indexes
        if known and not values.indexes[name].equals(dataset.indexes[name]):
            raise ValueError(
                f"expected {what} at the coordinates {name!r} of the table, got others; give "
                f"{what}.values for values in the order of the points"
            )


def stated_units(array: Any) -> str:
    """Units of a variable, in its attributes or as they were in its file."""
    units = array.attrs.get("units", "")
    return str(units) if units or array.dtype.kind in "mM" else str(array.encoding.get("units", ""))


def write(table: Any, variables: Variables, values: np.ndarray) -> Any:
    """Dataset of values (s, n, q) at the locations of `table`, whose coordinates it keeps."""
    import xarray as xr

    dataset = as_dataset(table)
    inputs = [variable(dataset, name) for name in variables.input_names]
    spanned = xr.broadcast(*inputs)[0]
    kept = dataset.coords.to_dataset().drop_vars(
        [name for name in (*variables.output_names, SAMPLE) if name in dataset.coords]
    )
    kept = kept.drop_dims([dim for dim in kept.dims if dim not in spanned.dims])
    coords = {name: kept[name] for name in kept.variables} | {
        part.name: _named(array, part) for array, part in zip(inputs, variables.inputs, strict=True)
    }
    number = {"standard_name": "realization", "long_name": "number of the sample"}
    coords[SAMPLE] = (SAMPLE, np.arange(len(values)), number)
    shape = (len(values), *spanned.shape)
    data = {
        part.name: ((SAMPLE, *spanned.dims), values[:, :, i].reshape(shape), part.attributes)
        for i, part in enumerate(variables.outputs)
    }
    return xr.Dataset(data, coords, {**dataset.attrs, "Conventions": CONVENTIONS})


def _named(array: Any, part: Variable) -> Any:
    """Coordinate with what the model knows of it where the table says nothing.

    Not the units of times: a reader would take the numbers for datetimes.
    """
    known = part.attributes
    if array.dtype.kind in "mM" or (part.units and split_time(part.units)[0]):
        known.pop("units", None)
    return array.variable.copy(deep=False)._replace(attrs={**known, **array.attrs})


def as_frame(dataset: Any) -> Any:
    """Tidy DataFrame of a Dataset: one row per sample and location, whose coordinates come first.

    Units of columns of numbers are in its `attrs`. Datetimes that are stated to be in UTC have that
    zone.
    """
    order = sorted(dataset.sizes, key=lambda dim: dim != "sample")
    frame = dataset.to_dataframe(dim_order=order).reset_index()
    frame = frame.drop(columns=[dim for dim in order if dim not in dataset.coords])
    frame = frame[sorted(frame, key=lambda name: name not in dataset.coords)]
    zoned = {name: frame[name].dt.tz_localize("UTC") for name in frame if states_utc(dataset[name])}
    frame, units = frame.assign(**zoned), _units_of(dataset)
    frame.attrs = {"units": units} if units else {}
    return frame


def as_rows_frame(table: Any, names: Sequence[str] = ()) -> Any:
    """DataFrame of a Dataset of observations: one row per point, its dimensions as columns.

    Args:
        table: The Dataset.
        names: Variables that are read: values that are not decoded are refused.
    """
    dataset = as_dataset(table)
    for name in names:
        variable(dataset, name)
    frame = dataset.to_dataframe().reset_index()
    frame.attrs["units"] = _units_of(dataset)
    return frame


def _units_of(dataset: Any) -> dict[str, str]:
    """Units that variables and coordinates of numbers state, by name."""
    numbers = [name for name, a in dataset.variables.items() if a.dtype.kind not in "mM"]
    stated = {str(name): stated_units(dataset[name]) for name in numbers}
    return {name: units for name, units in stated.items() if units}


def with_datetimes(targets: Any, inputs: Sequence[Variable], origin: str) -> Any:
    """Turn the times of a grid from numbers into datetimes, as the observations have them.

    Args:
        targets: Dataset of the target locations.
        inputs: The inputs of the model.
        origin: Date from which times without one of their own count.
    """
    for part in inputs:
        unit, date = split_time(part.units)
        if not unit or date is not None:
            continue
        times = targets[part.name]
        if times.dtype.kind not in "mM" and not times.attrs.get("units"):
            past = np.rint(times.values * SECONDS[unit] * 1e6).astype("timedelta64[us]")
            dated = np.datetime64(origin, "us") + past
            targets = targets.assign_coords({part.name: (times.dims, dated)})
    return targets
