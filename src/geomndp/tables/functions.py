"""Many functions in one table: a Dataset with a dimension, or a DataFrame with a column, for them.

Functions of different lengths are padded with NaN (CF's incomplete arrays): a point is real where
its inputs are known and so is a value. NaN in some outputs of a point means that these are missing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from geomndp.tables import infer_columns
from geomndp.tables.covariates import check_dimensions, check_known, check_numbers, warn_of_lost
from geomndp.tables.groups import function_labels
from geomndp.tables.known_noise import NoiseSpec, noise_columns, read_noise, warn_about_size
from geomndp.tables.latlon import FEW_LOCATIONS, check_degrees, globe_inputs
from geomndp.tables.padded import Padded, filled
from geomndp.tables.pandas_adapter import columns as frame_columns, is_frame, series
from geomndp.tables.suspect_numbers import warn_of_markers, warn_of_written_dates
from geomndp.tables.to_arrays import numeric
from geomndp.tables.units import per_function
from geomndp.tables.variables import Variable, Variables, as_latlon, as_names
from geomndp.tables.xarray_adapter import as_dataset, stated_units, variable

STACK = "of several that count functions make one (xarray: stack, reset_index), drop others (isel)"


class Functions(NamedTuple):
    """Inputs (b, n, d), values (b, n, p), mask, and what they are called.

    The mask is (b, n), or (b, n, p) where some outputs of a point are missing and others are not.
    Covariates are the last columns of the inputs; `noise` (b, n, p) is the variance of the values'
    known noise, None where none is known.
    """

    x: np.ndarray
    y: np.ndarray
    mask: np.ndarray
    variables: Variables
    noise: np.ndarray | None = None

    @property
    def rows(self) -> np.ndarray:
        """Points with any value, (b, n)."""
        return self.mask if self.mask.ndim == 2 else np.asarray(self.mask.any(axis=2))

    def take(self, rows: np.ndarray) -> Functions:
        """Some of the functions."""
        x, y, mask = (values[rows] for values in self[:3])
        noise = None if self.noise is None else self.noise[rows]
        return Functions(x, y, mask, self.variables, noise)


def read_functions(
    table: Any,
    *,
    function: Any = None,
    inputs: Any = None,
    outputs: Any = None,
    codomain: str = "real",
    elapsed: bool = True,
    drop_missing: bool = False,
    covariates: Any = (),
    noise: NoiseSpec = None,
    numbers: tuple[str, ...] = (),
    domain: str = "real",
) -> Functions:
    """Read many functions from one table, to learn from.

    Args:
        table: A Dataset with a dimension, or a DataFrame with a column, that counts
            functions.
        function: Name(s) of the dimension(s), or of the column.
        inputs: Names of the inputs; needed for a DataFrame.
        outputs: Names of the outputs, by default all data variables.
        codomain: "real", or "sphere" for a latitude and a longitude in degrees.
        elapsed: Whether datetimes count from the earliest of their function, not of all.
        drop_missing: Whether points of which some outputs are missing are left out.
        covariates: Names of columns that are known at every point, to stand after the inputs.
        noise: Variance of the values: a number, the name of a column, or either by output.
        numbers: Inputs that must be numbers, as periodic ones must.
        domain: "real", or "sphere" for locations by latitude and longitude in degrees, which
            become the first inputs.

    Returns:
        Inputs (b, n, d), values (b, n, p), mask (b, n) or (b, n, p), names and units, and noise.

    Raises:
        ValueError: If columns are missing, or functions have no points.
    """
    read = _from_frame if is_frame(table) else _from_dataset
    covariates = as_names("covariates", covariates) if len(covariates) else ()
    taken = (*covariates, *noise_columns(noise))
    padded, inputs, outputs = read(table, function, inputs, outputs, codomain, taken)
    inputs = globe_inputs(inputs, padded.attributes) if domain == "sphere" else inputs
    check_numbers(padded.values, (*covariates, *numbers))
    x, about_x, known = _inputs(padded, (*inputs, *covariates), elapsed)
    about_y = tuple(_described(padded, name) for name in outputs)
    variables = _variables(about_x, about_y, codomain, len(covariates), domain)
    y = np.stack([padded.numbers(name) for name in outputs], axis=-1)
    there = _inputs(padded, inputs, False)[2] & ~np.isnan(y).all(axis=2)
    check_known({name: padded.numbers(name) for name in covariates}, there, padded.functions)
    mask = padded.mask(known, ~np.isnan(y), outputs, codomain == "sphere", drop_missing)
    _warn_of_numbers(padded, (*inputs, *covariates), outputs, codomain)
    rows = mask if mask.ndim == 2 else np.asarray(mask.any(axis=2))
    if codomain == "sphere":
        check_degrees(outputs, y[mask], [about.units for about in about_y])
    if domain == "sphere":
        stated = [about.units for about in about_x[:2]]
        check_degrees(inputs, x[rows][:, :2], stated, few=FEW_LOCATIONS)
        x = variables.to_inputs(np.where(rows[:, :, None], x, 0.0))
    units = {name: about["units"] for name, about in padded.attributes.items()}
    if (variances := read_noise(noise, variables.outputs, padded.values, units, mask)) is not None:
        warn_about_size(outputs, y, variances)
    y = variables.to_values(np.where(rows[:, :, None], filled(y), 0.0))
    return Functions(np.where(rows[:, :, None], x, 0.0), y, mask, variables, variances)


def _from_dataset(table: Any, function: Any, inputs: Any, outputs: Any, codomain: str, taken):
    import xarray as xr

    dataset = as_dataset(table)
    outputs = infer_columns.outputs(dataset, outputs, codomain, taken)
    dims = infer_columns.function_dims(dataset, function, inputs, outputs)
    inputs = infer_columns.inputs(dataset, inputs, outputs, dims, taken)
    arrays = {name: variable(dataset, name).variable for name in (*inputs, *outputs, *taken)}
    points = {dim for name in inputs for dim in arrays[name].dims}
    _check_dims({name: arrays[name].dims for name in outputs}, dims, points)
    check_dimensions({name: arrays[name].dims for name in taken}, {*dims, *points})
    # Aligned by position: functions may have the same labels of points at different locations.
    order = {dim: None for dim in dims}
    order |= {dim: None for array in arrays.values() for dim in array.dims}
    sizes = {dim: dataset.sizes[dim] for dim in order}
    b = int(np.prod([sizes[dim] for dim in dims]))
    if 0 in sizes.values():
        raise ValueError(f"expected functions with points, got none: {dict(dataset.sizes)}")
    values = {
        name: array.set_dims(sizes).transpose(*order).values.reshape(b, -1)
        for name, array in arrays.items()
    }
    attributes = {name: _attributes(xr.DataArray(array)) for name, array in arrays.items()}
    return Padded(values, attributes), inputs, outputs


def _check_dims(outputs: dict[str, Any], functions: tuple[str, ...], points: set) -> None:
    """Refuse outputs with more or fewer dimensions: these would be points at the same locations."""
    wanted = {*functions, *points}
    for name, dims in outputs.items():
        if set(dims) != wanted:
            listed = ", ".join(map(repr, dict.fromkeys((*functions, *sorted(wanted)))))
            raise ValueError(
                f"expected {name!r} over the dimensions of functions and inputs ({listed}), got "
                f"{', '.join(map(repr, dims))}; {STACK if {*dims} - wanted else 'name outputs=...'}"
            )


def _attributes(array: Any) -> dict[str, str]:
    attributes = {key: str(array.attrs.get(key, "")) for key in ("long_name", "standard_name")}
    return attributes | {"units": stated_units(array)}


def _from_frame(table: Any, function: Any, inputs: Any, outputs: Any, codomain: str, taken):
    inputs, outputs, function = infer_columns.frame_columns(
        table, inputs, outputs, function, codomain, taken
    )
    owners = series(table, function)
    labels = function_labels(function, owners)
    order, counts = np.argsort(labels, kind="stable"), np.bincount(labels)
    columns, units, zoned = frame_columns(table, (*inputs, *outputs, *taken))
    row = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    warn_of_lost({name: columns[name] for name in inputs}, [columns[name] for name in outputs])
    values = {}
    for name, column in columns.items():
        times = column.dtype.kind in "mM"
        column = column if times else numeric(name, column)
        blank = np.array("NaT", column.dtype) if times else np.nan
        filled_up = np.full((len(counts), int(counts.max(initial=0))), blank, column.dtype)
        filled_up[labels[order], row] = column[order]
        values[name] = filled_up
    about = {name: {"units": units[name]} for name in columns}
    padded = Padded(values, about, _first_labels(owners, labels), zoned)
    return padded, inputs, outputs


def _first_labels(column: Any, labels: np.ndarray) -> list[Any]:
    """What each function is called."""
    return column.iloc[np.unique(labels, return_index=True)[1]].tolist()


def _warn_of_numbers(
    padded: Padded, inputs: tuple[str, ...], outputs: tuple[str, ...], codomain: str
) -> None:
    """Warn of numbers that stand for something else; degrees are checked by themselves."""
    for name in inputs:
        if padded.values[name].dtype.kind not in "mM":
            warn_of_written_dates(name, padded.numbers(name))
            warn_of_markers(name, padded.numbers(name))
    for name in outputs if codomain == "real" else ():
        warn_of_markers(name, padded.numbers(name))


def _variables(about_x, about_y, codomain: str, num_covariates: int, domain: str) -> Variables:
    """Names and units of all columns; those of locations are degrees."""
    about_x = tuple(as_latlon(about_x)) if domain == "sphere" else about_x
    about_y = tuple(as_latlon(about_y)) if codomain == "sphere" else about_y
    return Variables(about_x, about_y, codomain, num_covariates, domain)


def _described(padded: Padded, name: str) -> Variable:
    return Variable(name, **padded.attributes[name])


def _inputs(padded: Padded, names: tuple[str, ...], elapsed: bool):
    """Numbers (b, n, d) of the inputs, their description, and where they are known."""
    columns, described, known = [], [], np.array(True)
    for name in names:
        values, about = padded.values[name], _described(padded, name)
        if values.dtype.kind in "mM":
            known = known & ~np.isnat(values)
            values, units = per_function(values, elapsed, padded.zoned)
            about = Variable(name, units, about.long_name, about.standard_name)
        else:
            values = padded.numbers(name)
            known = known & ~np.isnan(values)
        columns.append(values)
        described.append(about)
    return np.stack(columns, axis=-1), tuple(described), known
