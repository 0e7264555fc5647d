"""Observed values in the form and in the order of samples, to be compared with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from geomndp import _validation
from geomndp.summaries.samples import SAMPLE, frame_order, unpack
from geomndp.tables import is_table
from geomndp.tables.pandas_adapter import series
from geomndp.tables.xarray_adapter import is_data_array, is_dataset


def true_values(samples: Any, truth: Any, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Observed values in the order of the samples' locations."""
    samples, truth = _same_form(samples, truth, list(values))
    columns = {}
    for name, array in values.items():
        if not is_table(truth):
            observed = _validation.as_array("the truth", truth)
        elif name not in truth:
            raise ValueError(f"expected {name!r} in the truth, got {', '.join(map(repr, truth))}")
        else:
            read = _from_dataset if is_dataset(truth) else _from_frame
            observed = read(samples, truth, name)
        if observed.shape != array.shape[1:]:
            raise ValueError(f"expected the truth of shape {array.shape[1:]}, got {observed.shape}")
        if observed.dtype.kind not in "fiub":
            raise ValueError(f"expected a truth of numbers, got {observed.dtype}")
        columns[name] = observed.astype(float)
        _validation.finite_rows("truth", columns[name])
    return columns


def _same_form(samples: Any, truth: Any, names: list[str]) -> tuple[Any, Any]:
    """Samples and truth as two Datasets or two DataFrames, or a truth that is an array."""
    single = is_data_array(samples)
    if is_data_array(truth) and (single or is_dataset(samples)):
        # One variable, with the name of the samples' one if it has none of its own.
        name = names[0] if single or truth.name is None else str(truth.name)
        truth = truth.to_dataset(name=name)
    elif single and is_dataset(truth) and samples.name in truth:
        truth = truth.rename({samples.name: names[0]})
    samples = samples.to_dataset(name=names[0]) if single else samples
    if is_table(truth) and _form(truth) != _form(samples):
        form = f"the truth in the form of the samples, {_form(samples)}"
        raise ValueError(f"expected {form}, got {_form(truth)}")
    if not is_table(truth) and len(names) > 1:
        raise ValueError(f"expected a table with the truth of {', '.join(names)}, got an array")
    return samples, truth


def _form(table: Any) -> str:
    return type(table).__name__ if is_table(table) else "array"


def _from_dataset(samples: Any, truth: Any, name: str) -> np.ndarray:
    dims = [dim for dim in samples[name].transpose(SAMPLE, ...).dims if dim != SAMPLE]
    if set(truth[name].dims) != set(dims):
        raise ValueError(f"expected the truth over {dims}, got {truth[name].dims}")
    for key, own in samples[name].coords.items():
        other = truth[name].coords.get(key)
        if other is None or not own.dims or not set(own.dims) <= set(dims):
            continue
        same_dims = set(own.dims) == set(other.dims)
        other = other.transpose(*own.dims) if same_dims else other
        _check_same_locations(str(key), own.values, other.values)
    return truth[name].transpose(*dims).values


def _from_frame(samples: Any, truth: Any, name: str) -> np.ndarray:
    outputs = unpack(samples, 1).values
    first = samples.iloc[frame_order(samples)[: next(iter(outputs.values())).shape[1]]]
    known = dict.fromkeys((*truth, *(level for level in truth.index.names if level is not None)))
    for key in (key for key in known if key in samples and key not in (SAMPLE, *outputs)):
        _check_same_locations(str(key), first[key].to_numpy(), series(truth, key).to_numpy())
    return np.asarray(truth[name])


def _check_same_locations(name: str, own: np.ndarray, other: np.ndarray) -> None:
    """Refuse a truth at other locations, by the coordinates or columns that both have."""
    same = own.shape == other.shape
    if same:
        missing = (own != own) & (other != other)
        same = bool(np.all((own == other) | missing))
    if not same:
        raise ValueError(f"expected the truth at the samples' locations, got other {name!r}")
