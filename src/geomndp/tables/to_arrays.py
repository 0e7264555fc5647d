"""From a table's columns to a model's arrays, without importing pandas or xarray."""

from __future__ import annotations

from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from geomndp import _validation
from geomndp._deprecated import renamed_arguments
from geomndp._time_zones import TimeOrigin, check_origin
from geomndp.tables import pandas_adapter, xarray_adapter
from geomndp.tables.latlon import FEW_LOCATIONS, check_degrees
from geomndp.tables.not_numbers import no_numbers
from geomndp.tables.units import (
    SECONDS,
    check_variance,
    check_zone,
    duration,
    seconds,
    seconds_since,
    split_time,
)
from geomndp.tables.variables import Variable, Variables, check_same, find_latlon


class Columns(NamedTuple):
    """Arrays (n,) by name, stated units, and whether inputs are zoned datetimes (None: neither)."""

    values: dict[str, np.ndarray]
    units: dict[str, str]
    zoned: bool | None = None

    def __len__(self) -> int:
        return len(next(iter(self.values.values())))


class Rows(NamedTuple):
    """Inputs (n, d), values (n, p) if asked for, and the moment from which times are counted.

    That is a text (ISO 8601), which can be compared and hashed with all its digits.
    """

    x: np.ndarray
    y: np.ndarray | None
    noise: Any
    time_origin: str | None


def adapter_of(table: Any) -> ModuleType:
    """The adapter of the library that a table is of; xarray's refuses what is no table."""
    return pandas_adapter if pandas_adapter.is_frame(table) else xarray_adapter


def latlon_names(table: Any) -> tuple[str, str]:
    """Names of the latitude and the longitude of a table, by standard name, units, or name.

    Args:
        table: A DataFrame or a Dataset.
    """
    about = adapter_of(table).attributes(table)
    return find_latlon(about, 0), find_latlon(about, 1)


def read_columns(table: Any, inputs: tuple[str, ...], others: tuple[str, ...] = ()) -> Columns:
    """Find columns by name; `others` belong to the locations that the inputs span."""
    return Columns(*adapter_of(table).columns(table, inputs, others))


@renamed_arguments(own="own_origin")
def read_inputs(
    variables: Variables, table: Any, time_origin: str | None = None, *, own_origin: bool = True
) -> Rows:
    """Read the locations of a table.

    Args:
        variables: Names and units of the inputs.
        table: A DataFrame or Dataset.
        time_origin: Moment from which datetimes count.
        own_origin: Whether they count from the earliest of the table where there is no origin.

    Returns:
        Inputs (n, d) in the units of the variables.

    Raises:
        ValueError: If a column is missing, or in other units.
    """
    adapter_of(table).check_locations(table, variables.input_names)
    columns = read_columns(table, variables.input_names)
    x, time_origin = _inputs(variables, columns, time_origin, own_origin)
    return Rows(x, None, 0.0, time_origin)


@renamed_arguments(own="own_origin")
def read_rows(
    variables: Variables,
    table: Any,
    noise: Any = 0.0,
    time_origin: str | None = None,
    *,
    own_origin: bool = True,
) -> Rows:
    """Read locations and values of a table.

    Args:
        variables: Names and units of inputs and outputs.
        table: A DataFrame or Dataset.
        noise: Variance of the observations: numbers, or the name of a column.
        time_origin: Moment from which datetimes count.
        own_origin: Whether they count from the earliest of the table where there is no origin.

    Returns:
        Inputs (n, d), values (n, p), masked where they are missing, noise and the moment from which
        times count.

    Raises:
        ValueError: If a column is missing, or in other units.
    """
    extra = (noise,) if isinstance(noise, str) else ()
    adapter_of(table).check_same_rows(table, noise)
    names = (*variables.output_names, *extra)
    columns = read_columns(table, variables.input_names, names)
    x, time_origin = _inputs(variables, columns, time_origin, own_origin)
    y = read_values(variables, columns)
    if extra:
        stated = [variable.units for variable in variables.outputs]
        check_variance(noise, columns.units[noise], stated, variables.codomain == "sphere")
        known = ~np.ma.getmaskarray(y).all(axis=1)
        noise = _numbers(noise, np.where(known, numeric(noise, columns.values[noise]), 0.0))
    return Rows(x, y, noise, time_origin)


def read_observations(
    variables: Variables, table: Any, noise: Any = 0.0, time_origin: str | None = None
) -> Rows:
    """Read what a model is conditioned on: at least one row; a row may be repeated.

    Args:
        variables: The model's.
        table: A DataFrame or a Dataset.
        noise: Variances of the errors: one number, one per row, or the name of a column.
        time_origin: Date from which times count, where the model learnt elapsed times.
    """
    rows = read_rows(variables, table, noise, time_origin)
    if not len(rows.x):
        raise ValueError(
            "expected a table with at least one row, got an empty one; model.sample needs no "
            "observations"
        )
    return rows


def write_samples(variables: Variables, table: Any, y: Any) -> Any:
    """Samples as a table of the type of another, at its locations.

    Args:
        variables: Names and units of inputs and outputs.
        table: A DataFrame or Dataset with the locations.
        y: Samples (s, n, p).

    Returns:
        A tidy DataFrame, one row per sample and location, or a Dataset with a dimension `sample`.
    """
    values = variables.from_values(np.asarray(y))
    return adapter_of(table).write(table, variables, values)


def _inputs(variables: Variables, columns: Columns, time_origin, own_origin: bool):
    arrays = []
    for variable in variables.inputs:
        values, units = columns.values[variable.name], columns.units[variable.name]
        if values.dtype.kind in "mM":
            _refuse_missing(variable.name, np.isnat(values))
        if values.dtype.kind == "M":
            check_origin(columns.zoned, time_origin)
            if time_origin is None and own_origin and values.size:
                time_origin = TimeOrigin(np.min(values), columns.zoned)
            check_zone(variable.name, variable.units, columns.zoned)
            arrays.append(_since(variable, values, time_origin))
        elif values.dtype.kind == "m":
            arrays.append(seconds(values) / SECONDS[_unit_of_time(variable)])
        else:
            factor = duration(variable.name, units, variable.units) if units else 1.0
            arrays.append(_numbers(variable.name, values) * factor)
    x = np.stack(arrays, axis=1)
    if variables.domain == "sphere":
        stated = {name: columns.units[name] for name in variables.input_names[:2]}
        check_degrees(tuple(stated), x[:, :2], list(stated.values()), few=FEW_LOCATIONS)
    return variables.to_inputs(x), time_origin


def _since(variable: Variable, values: np.ndarray, time_origin) -> np.ndarray:
    """Datetimes as numbers in the variable's units."""
    unit, date = _unit_of_time(variable), split_time(variable.units)[1]
    if date is None and time_origin is None and values.size:
        name = variable.name
        raise ValueError(f"expected numbers for {name!r} as in the observations, got datetimes")
    start = np.datetime64(time_origin or "1970-01-01") if date is None else date
    return seconds_since(values, start) / SECONDS[unit]


def _unit_of_time(variable: Variable) -> str:
    unit, _ = split_time(variable.units)
    if not unit:
        where = f"{variable.name!r} (units {variable.units!r})"
        raise ValueError(f"expected numbers for {where}, got times")
    return unit


def read_values(variables: Variables, columns: Columns) -> np.ndarray:
    """Values (n, p) of a model from the outputs' columns, masked where these are NaN."""
    arrays = []
    for variable in variables.outputs:
        check_same(variable.name, columns.units[variable.name], variable.units)
        values = numeric(variable.name, columns.values[variable.name])
        _refuse_missing(variable.name, np.isinf(values))
        arrays.append(values)
    stacked = np.stack(arrays, axis=1)
    missing = np.isnan(stacked)
    if variables.codomain == "sphere":  # a latitude without a longitude is a mistake
        whole = np.asarray(~missing.all(axis=1))
        for variable, absent in zip(variables.outputs, missing.T, strict=True):
            _refuse_missing(variable.name, absent & whole)
        units = [columns.units[name] for name in variables.output_names]
        check_degrees(variables.output_names, stacked[whole], units)
        missing = np.broadcast_to(~whole[:, None], (len(stacked), variables.dim))
    values = variables.to_values(np.where(np.isnan(stacked), 0.0, stacked))
    return np.ma.masked_where(missing, values) if missing.any() else values


def _numbers(name: str, values: np.ndarray) -> np.ndarray:
    values = numeric(name, values)
    _refuse_missing(name, ~np.isfinite(values))
    return values


def numeric(name: str, values: np.ndarray) -> np.ndarray:
    """Floats of a column; what is missing stays NaN."""
    if values.dtype.kind not in "fiu":
        raise ValueError(f"expected numbers in {name!r}, got {no_numbers(values)}")
    return values.astype(float)


def _refuse_missing(name: str, missing: np.ndarray) -> None:
    """Refuse what is missing, naming the rows."""
    _validation.finite_rows(repr(name), np.where(missing, np.nan, 0.0))
