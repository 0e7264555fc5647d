"""Columns of a table as arrays of one length, with their units, whatever the table is.

pandas and xarray are not imported here: a table comes from a program that did.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from geomndp.tables import pandas_adapter, xarray_adapter


class Columns(NamedTuple):
    """Arrays (n,) by name, and the units that the table states."""

    values: dict[str, np.ndarray]
    units: dict[str, str]

    def __len__(self) -> int:
        return len(next(iter(self.values.values())))


def is_table(value: Any) -> bool:
    """Whether this is an object of pandas or xarray."""
    return type(value).__module__.partition(".")[0] in ("pandas", "xarray")


def read_columns(table: Any, inputs: tuple[str, ...], others: tuple[str, ...] = ()) -> Columns:
    """Find columns by name; `others` belong to the places that the inputs make."""
    kind = type(table).__name__
    if kind == "DataFrame":
        return Columns(*pandas_adapter.columns(table, (*inputs, *others)))
    return Columns(*xarray_adapter.columns(as_dataset(table), inputs, others))


def as_dataset(table: Any):
    """Take an xarray Dataset, or make one of a DataArray that has a name."""
    kind = type(table).__name__
    if kind == "DataArray" and table.name is not None:
        # A coordinate stands for its places.
        same = table.name in table.coords
        return table.coords.to_dataset() if same else table.to_dataset()
    if kind != "Dataset":
        raise ValueError(f"expected a DataFrame, a Dataset or arrays, got a {kind}")
    return table
