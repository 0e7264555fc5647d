"""Samples in any of their forms as arrays (s, ...), and results back in the same form.

| samples | a result |
|---|---|
| array (s, ...) | NumPy array (...) |
| Dataset or DataArray with the dimension `sample` | the same without it |
| tidy DataFrame with the column `sample` | DataFrame, one row per location |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from geomndp import _validation
from geomndp.tables import is_table, latlon_names
from geomndp.tables.pandas_adapter import is_frame
from geomndp.tables.variables import LONGITUDE, canonical
from geomndp.tables.xarray_adapter import is_data_array, is_dataset

SAMPLE = "sample"


class Unpacked(NamedTuple):
    """Arrays (s, ...) by name, and how arrays (...) under the same names become a result.

    `wrap(values, **attributes)`: what is said of all variables; an empty string takes words away.
    """

    values: dict[str, np.ndarray]
    wrap: Callable[..., Any]


def unpack(samples: Any, fewest: int = 2) -> Unpacked:
    """Take samples apart; at least so many are needed."""
    if not is_table(samples):
        unpacked = _arrays(samples)
    elif is_frame(samples):
        unpacked = _frame(samples)
    elif is_dataset(samples) or is_data_array(samples):
        unpacked = _xarray(samples)
    else:
        got = type(samples).__name__
        raise ValueError(f"expected samples as arrays, a Dataset or a DataFrame, got a {got}")
    number = len(next(iter(unpacked.values.values())))
    _validation.at_least(fewest, num_samples=number)
    for name, values in unpacked.values.items():
        if values.dtype.kind == "f":
            _validation.finite_rows(f"samples of {name!r}" if name else "samples", values)
    return unpacked


def has_latlon(samples: Any) -> bool:
    """Whether the outputs of a table of samples have a latitude and a longitude."""
    if not is_dataset(samples) and not is_frame(samples):
        return False
    try:
        names = latlon_names(samples)
    except ValueError:
        return False
    return set(names) <= set(unpack(samples, 1).values)


def matched_latlon(samples: Any) -> Any:
    """Samples with the longitude over its dimensions in the order of the latitude's."""
    lat, lon = latlon_names(samples)
    if is_frame(samples) or samples[lon].dims == samples[lat].dims:
        return samples
    dims, got = samples[lat].dims, samples[lon].dims
    if set(dims) != set(got):
        raise ValueError(f"expected {lon!r} over the dimensions {dims} of {lat!r}, got {got}")
    return samples.assign({lon: samples[lon].transpose(*dims)})


def unpack_real(samples: Any, fewest: int = 2) -> Unpacked:
    """Take real values apart, without latitude and longitude; refuse if none is left.

    A longitude without a latitude is refused: 179 and -179 degrees are close to each other.
    """
    if has_latlon(samples):
        names = list(latlon_names(samples))
        if set(unpack(samples, 1).values) == set(names):
            raise ValueError("expected numbers, got locations: see track_mean, ...")
        frame = is_frame(samples)
        samples = samples.drop(columns=names) if frame else samples.drop_vars(names)
    unpacked = unpack(samples, fewest)
    for name in unpacked.values:
        if _is_longitude(samples, name):
            raise ValueError(
                f"expected numbers, got longitudes in {name!r}, which are angles; for locations as "
                "latitude and longitude there are track_mean, ..."
            )
    return unpacked


def _is_longitude(samples: Any, name: str) -> bool:
    """By standard name, units, or name, as locations are found."""
    if not is_table(samples):
        return False
    if is_frame(samples):
        about = {"units": samples.attrs.get("units", {}).get(name, "")}
    else:
        array = samples if is_data_array(samples) else samples[name]
        name, about = str(array.name), array.attrs
    if about.get("standard_name") == "longitude" or name.lower() in ("longitude", "lon"):
        return True
    return canonical(str(about.get("units", ""))) == LONGITUDE


def _arrays(samples: Any) -> Unpacked:
    _validation.no_masked(samples=samples)
    values = _validation.as_array("samples", samples)
    if values.ndim == 0 or values.dtype.kind not in "fiubmM":
        raise ValueError(f"expected samples of shape (s, ...), got {values.dtype} {values.shape}")
    return Unpacked({"": values}, lambda values, **attributes: values[""])


def _xarray(samples: Any) -> Unpacked:
    if SAMPLE not in samples.dims:
        raise ValueError(f"expected samples with a dimension {SAMPLE!r}, got {tuple(samples.dims)}")
    single = is_data_array(samples)
    dataset = samples.to_dataset(name="value") if single else samples
    arrays = {str(n): a for n, a in dataset.data_vars.items() if SAMPLE in a.dims}
    if not arrays:
        raise ValueError(f"expected variables over the dimension {SAMPLE!r}, got none")
    first = {name: array.transpose(SAMPLE, ...) for name, array in arrays.items()}
    values = {name: array.values for name, array in first.items()}

    def wrap(values: dict[str, Any], **attributes: str) -> Any:
        result = dataset.drop_dims(SAMPLE)
        for name, value in values.items():
            one = first.get(name, next(iter(first.values()))).isel({SAMPLE: 0}, drop=True)
            about = {**(one.attrs if name in first else {}), **attributes}
            kept = {key: words for key, words in about.items() if words != ""}
            result[name] = one.copy(data=value)
            result[name].attrs = kept
        return result["value"] if single and "value" in values else result

    return Unpacked(values, wrap)


def frame_order(samples: Any) -> np.ndarray:
    """Numbers of the rows of a DataFrame, by sample and then in one order of the locations."""
    if SAMPLE not in samples.columns:
        listed = ", ".join(map(repr, samples.columns))
        raise ValueError(f"expected samples with a column {SAMPLE!r}, got {listed}")
    counts = samples[SAMPLE].value_counts()
    if not len(counts) or counts.nunique() > 1:
        raise ValueError("expected the same number of rows in every sample, got different ones")
    order = np.argsort(samples[SAMPLE].to_numpy(), kind="stable")
    inputs = samples.attrs.get("inputs")
    names = [name for name in samples if name != SAMPLE and (not inputs or name in inputs)]
    columns = {name: samples[name].to_numpy()[order].reshape(len(counts), -1) for name in names}
    mixed = [name for name, values in columns.items() if not np.all(values == values[:1])]
    if not inputs:
        _refuse_shuffled({name: columns[name] for name in mixed})
        return order
    if not mixed:
        return order
    sorted_rows = samples.reset_index(drop=True).sort_values([SAMPLE, *names], kind="stable")
    for name in names:
        values = sorted_rows[name].to_numpy().reshape(len(counts), -1)
        if not np.all(values == values[:1]):
            raise ValueError(f"expected the same locations in every sample, got other {name!r}")
    return sorted_rows.index.to_numpy()


def _refuse_shuffled(columns: dict[str, np.ndarray]) -> None:
    """Refuse columns (s, n) that have the same values in every sample, but in other orders."""
    for name, values in columns.items():
        if values.dtype.kind not in "fiumM":
            continue
        ranked = np.sort(values, axis=1)
        if np.all(ranked == ranked[:1]):
            raise ValueError(
                f"expected the locations of every sample in one order, got {name!r} in several; "
                "sort the rows, or name the inputs in attrs['inputs']"
            )


def _frame(samples: Any) -> Unpacked:
    ordered = samples.iloc[frame_order(samples)]
    shape = (ordered[SAMPLE].nunique(), -1)
    columns = {name: ordered[name].to_numpy().reshape(shape) for name in ordered if name != SAMPLE}
    # The locations are the columns that are said to be, or else those that no sample changes.
    inputs = samples.attrs.get("inputs")
    locations = {
        name: v[0]
        for name, v in columns.items()
        if (name in inputs if inputs else len(v) > 1 and np.all(v == v[:1]))
    }
    values = {n: v for n, v in columns.items() if n not in locations}

    def wrap(values: dict[str, Any], **attributes: str) -> Any:
        result = type(samples)({**locations, **values})
        units = dict(samples.attrs.get("units", {}))
        if "units" in attributes:
            units |= dict.fromkeys(values, attributes["units"])
        result.attrs["units"] = {n: u for n, u in units.items() if n in result and u}
        return result

    return Unpacked(values, wrap)
