"""Groups of functions that belong together: scans of a person, years of a station."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from geomndp.tables.infer_columns import FUNCTION
from geomndp.tables.pandas_adapter import is_frame, series
from geomndp.tables.variables import as_names

DIGITS = re.compile(r"(\d+)")


def read_groups(table: Any, groups: Any, function: Any = None) -> tuple[Any, tuple[str, ...]]:
    """Read one group label per function, in the order in which `read_functions` has them.

    Args:
        table: The DataFrame or Dataset of the functions.
        groups: Name of a column, which has one value per function, or of a variable over the
            dimension(s) of the functions; or one label per function.
        function: Name of the DataFrame's column that names functions.

    Returns:
        The table without the column or variable, and the labels.

    Raises:
        ValueError: If a function has several groups, or the name is not in the table.
    """
    if not isinstance(groups, str):
        return table, tuple(str(label) for label in groups)
    if not is_frame(table):
        if groups not in table.variables:
            raise ValueError(f"expected groups to be a variable of the Dataset, got {groups!r}")
        labels = np.asarray(_in_order_of_functions(table, groups, function)).reshape(-1)
        return table.drop_vars(groups), tuple(map(str, labels))
    (name,) = as_names("function", FUNCTION if function is None else function, 1)
    owners = series(table, name)
    by_function: dict[int, str] = {}
    for row, (function, group) in enumerate(
        zip(function_labels(name, owners).tolist(), series(table, groups).to_numpy(), strict=True)
    ):
        if by_function.setdefault(function, str(group)) != str(group):
            label = str(owners.iloc[row])
            raise ValueError(
                f"expected one value of {groups!r} per function, got several in {label!r}"
            )
    return table.drop(columns=groups), tuple(by_function[i] for i in range(len(by_function)))


def _in_order_of_functions(table: Any, groups: str, function: Any) -> Any:
    """Labels over the functions' dimensions in the order in which functions are numbered."""
    others = [dim for name in table.data_vars if name != groups for dim in table[name].dims]
    order = others if function is None else as_names("function", function)
    labels = table[groups]
    dims = [dim for dim in dict.fromkeys((*order, *others)) if dim in labels.dims]
    return labels.transpose(*dims).values if len(dims) == labels.ndim else labels.values


def function_labels(name: str, column: Any) -> np.ndarray:
    """Number of every row's function, in the order of their labels, run2 before run10.

    Args:
        name: Name of the column.
        column: Labels (n,), a Series.

    Raises:
        ValueError: If labels are missing, or of several kinds.
    """
    missing = np.asarray(column.isna())
    if missing.any():
        row = int(np.argmax(missing))
        raise ValueError(
            f"expected {name!r} to name the function of every row, got none in row {row} (an empty "
            "cell, a label such as NA, which is read as one, or a row of units)"
        )
    try:
        labels, index = np.unique(column.to_numpy(), return_inverse=True)
    except TypeError:
        kind = type(column.iloc[0]).__name__
        raise ValueError(
            f"expected labels of one kind in {name!r}, got {kind} and others"
        ) from None
    return _in_counting_order(labels)[index.reshape(-1)]


def _in_counting_order(labels: np.ndarray) -> np.ndarray:
    """Position of every label; numbers within texts count as numbers: run2 stands before run10."""
    if not all(isinstance(label, str) for label in labels):
        return np.arange(len(labels))
    keys = [[_number(part) for part in DIGITS.split(label)] for label in labels]
    position = np.empty(len(labels), int)
    position[sorted(range(len(labels)), key=lambda row: keys[row])] = np.arange(len(labels))
    return position


def _number(part: str) -> tuple[int, str]:
    """Key by which digits are compared as numbers."""
    return (int(part), "") if part.isdecimal() else (0, part)
