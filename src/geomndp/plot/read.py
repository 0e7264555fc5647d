"""What pictures are given, as arrays: samples and observations, in arrays or in tables.

Every picture of functions is called as `picture(x, samples, context=(x, y))` with arrays, or as
`picture(samples, context=observations)` with tables, as `Posterior.sample` and the summaries
return them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from geomndp.summaries.samples import SAMPLE, frame_order, matched_latlon, unpack
from geomndp.tables import is_table, latlon_names
from geomndp.tables.infer_columns import inputs as coordinate_names
from geomndp.tables.pandas_adapter import is_frame
from geomndp.tables.to_arrays import read_columns
from geomndp.tables.units import duration
from geomndp.tables.xarray_adapter import as_dataset


class PlottedFunctions(NamedTuple):
    """Inputs (n, d), values (s, n, p), and what tables call them (empty for arrays)."""

    x: np.ndarray
    y: np.ndarray
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    units: dict[str, str] = {}  # noqa: RUF012

    def label(self, index: int, output: bool, otherwise: str) -> str:
        """Name and units of an input or output, for an axis."""
        names = self.outputs if output else self.inputs
        if not names:
            return otherwise
        units = self.units.get(names[index], "")
        return f"{names[index]} [{units}]" if units else names[index]


def read_functions(x: Any, samples: Any, *, d: int, p: int | None) -> PlottedFunctions:
    """Samples, or one function (n, p), at d inputs: two arrays, or one table and None.

    With `p` None any number of outputs is taken: arrays (s, n) then have one.
    """
    if samples is None:
        if not is_table(x):
            raise ValueError("expected samples at x, or a table of samples, got x only")
        return _from_table(x, d, p)
    if is_table(samples):
        raise ValueError("expected x and samples as arrays, or a table of samples alone, got both")
    x, y = plain_array("x", x, times=True), plain_array("samples", samples)
    x = x.reshape(-1, 1) if x.ndim == 0 else x
    x = x[:, None] if x.ndim == 1 else x
    p = _outputs(y, len(x)) if p is None else p
    if p == 1 and y.shape[-1:] != (1,):
        y = y[..., None]
    y = y[None] if y.ndim == 2 else y
    if x.ndim != 2 or x.shape[1] != d or y.ndim != 3 or y.shape[1:] != (len(x), p) or p == 0:
        expected = f"inputs (n, {d}) and samples (s, n, {p}) or one function (n, {p})"
        raise ValueError(f"expected {expected}, got shapes {x.shape} and {np.shape(samples)}")
    return PlottedFunctions(x, y)


def plain_array(name: str, value: Any, times: bool = False) -> np.ndarray:
    """Array of real numbers, or of times where these can be drawn; masked floats become gaps."""
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.array(None)
    if array.dtype.kind not in ("fiumM" if times else "fiu"):
        raise ValueError(f"expected numbers for {name}, got {type(value).__name__}: {array.dtype}")
    if not isinstance(value, np.ma.MaskedArray):
        return array
    if value.dtype.kind != "f":
        raise ValueError(f"expected {name} of floats where masked, got {value.dtype}")
    return value.filled(np.nan)


def _outputs(y: np.ndarray, n: int) -> int:
    """Number of outputs of samples (s, n, p), of (s, n), or of one function (n, p)."""
    if y.ndim == 3 or (y.ndim == 2 and len(y) == n != y.shape[1]):
        return y.shape[-1]
    return 1


def read_context(
    context: Any, like: PlottedFunctions, *, d: int, p: int
) -> PlottedFunctions | None:
    """Observations: a pair of arrays, or a table with the names of the samples' one."""
    if context is None:
        return None
    if not is_table(context):
        if not isinstance(context, (tuple, list)) or len(context) != 2:
            raise ValueError(f"expected observations as a pair (x, y) or a table, got {context!r}")
        x, y = context
        functions = read_functions(x, y, d=d, p=p) if np.size(x) else None
    else:
        if not like.outputs:
            raise ValueError("expected observations as arrays (x, y) with samples as arrays")
        columns = read_observed(context, like)
        x, y = (np.stack([columns[n] for n in names], -1) for names in (like.inputs, like.outputs))
        functions = PlottedFunctions(x, y[None], like.inputs, like.outputs) if len(x) else None
    return functions


def read_observed(context: Any, like: PlottedFunctions) -> dict[str, np.ndarray]:
    """Columns of a table of observations in the units of the samples; only times are converted."""
    columns = read_columns(context, like.inputs, like.outputs)
    observed = {}
    for name, values in columns.values.items():
        factor = duration(name, columns.units.get(name, ""), like.units.get(name, ""))
        observed[name] = values if factor == 1 else factor * values
    return observed


def read_values(samples: Any) -> np.ndarray:
    """Locations (s, n, 2) in degrees of a table of samples, latitudes first."""
    if is_frame(samples):  # where a longitude may be the same in all samples
        ordered = samples.iloc[frame_order(samples)]
        values = ordered[list(latlon_names(samples))].to_numpy(float)
        return values.reshape(ordered[SAMPLE].nunique(), -1, 2)
    unpacked = unpack(matched_latlon(samples), 1)
    return np.stack([_rows(unpacked.values[name]) for name in latlon_names(samples)], axis=-1)


def _from_table(table: Any, d: int, p: int | None) -> PlottedFunctions:
    table = _with_samples(table)
    unpacked = unpack(table, 1)
    frame = is_frame(table)
    several = not frame or len(table.columns) - 1 - len(unpacked.values) == d
    if frame and (not several if p is None else len(unpacked.values) != p):
        # Of one sample, or of equal ones, nothing else tells inputs from values.
        inputs = tuple(str(name) for name in table.columns if name != SAMPLE)[:d]
        table = table.copy(deep=False)
        table.attrs = {**table.attrs, "inputs": list(inputs)}
        unpacked = unpack(table, 1)
    outputs = tuple(unpacked.values)
    one = unpacked.wrap({name: values[0] for name, values in unpacked.values.items()})
    if frame:
        inputs = tuple(str(name) for name in one.columns if name not in outputs)
    else:
        coordinates = coordinate_names(one, None, outputs, ())
        inputs = tuple(sorted(coordinates, key=lambda name: not _eastward(one[name])))
    if len(inputs) != d or (p is not None and len(outputs) != p):
        wanted = f"{d} inputs" if p is None else f"{d} inputs and {p} outputs"
        raise ValueError(f"expected {wanted}, got {inputs} and {outputs}")
    columns = read_columns(one, inputs)
    x = np.stack([columns.values[name] for name in inputs], axis=-1)
    y = np.stack([_spanned(one, unpacked.values[n], n, inputs) for n in outputs], axis=-1)
    units = columns.units | read_columns(one, inputs, outputs).units
    return PlottedFunctions(x, y, inputs, outputs, units)


def _eastward(array: Any) -> bool:
    """Whether a coordinate is the one that maps draw from left to right."""
    marks = {"X", "longitude", "projection_x_coordinate"}
    attributes = {str(array.attrs.get(key, "")) for key in ("axis", "standard_name")}
    names = ("x", "lon", "longitude", "easting")
    return bool(attributes & marks) or str(array.name).lower() in names


def _rows(values: np.ndarray) -> np.ndarray:
    return values.reshape(len(values), -1)


def _spanned(one: Any, values: np.ndarray, name: str, inputs: tuple[str, ...]) -> np.ndarray:
    """Values (s, n) in the order of the locations that the inputs span."""
    if is_frame(one):
        return _rows(values)
    import xarray as xr

    dims = xr.broadcast(*(one[each] for each in inputs))[0].dims
    order = [1 + one[name].dims.index(dim) for dim in dims]
    return _rows(values.transpose(0, *order))


def _with_samples(table: Any) -> Any:
    """The table itself, or that of one sample."""
    if is_frame(table):
        return table if SAMPLE in table.columns else table.assign(**{SAMPLE: 0})
    dataset = as_dataset(table)
    if SAMPLE in dataset.dims:
        return dataset
    return dataset.drop_vars(SAMPLE, errors="ignore").expand_dims(SAMPLE)
