"""Which columns of a user's table are inputs, outputs and functions, where the user did not say."""

from __future__ import annotations

from typing import Any

import numpy as np

from geomndp._missing_columns import LEVELS, check_frame_columns
from geomndp.tables.not_numbers import no_numbers
from geomndp.tables.to_arrays import latlon_names
from geomndp.tables.variables import as_names
from geomndp.tables.xarray_adapter import variable

FUNCTION = "function"


def outputs(
    dataset: Any, names: Any, codomain: str, taken: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """All data variables but those taken, or on the sphere the latitude and the longitude."""
    if names is not None:
        return as_names("outputs", names, 2 if codomain == "sphere" else None)
    if codomain == "sphere":
        return latlon_names(dataset)
    output_names = tuple(str(name) for name in dataset.data_vars if name not in taken)
    if not output_names:
        raise ValueError("expected data variables to be the outputs, got none; name outputs=...")
    return output_names


def function_dims(
    dataset: Any, function: Any, inputs: Any, outputs: tuple[str, ...]
) -> tuple[str, ...]:
    """Take the named dimension(s), else `function`, else those that no named input has."""
    dims = [dim for name in outputs for dim in variable(dataset, name).dims]
    if function is not None:
        function_dimensions = as_names("function", function)
    elif FUNCTION in dims:
        function_dimensions = (FUNCTION,)
    else:
        named = () if inputs is None else as_names("inputs", inputs)
        taken = {dim for name in named for dim in variable(dataset, name).dims}
        function_dimensions = tuple(
            dict.fromkeys(dim for dim in dims if named and dim not in taken)
        )
    known = ", ".join(map(repr, dict.fromkeys(dims))) or "none"
    if not function_dimensions:
        raise ValueError(
            f"expected a dimension 'function', got {known}; name the one that counts functions: "
            "function=..."
        )
    if missing := [dim for dim in function_dimensions if dim not in dims]:
        raise ValueError(f"expected outputs over the dimension {missing[0]!r}, got {known}")
    return function_dimensions


def inputs(
    dataset: Any,
    names: Any,
    outputs: tuple[str, ...],
    functions: tuple[str, ...],
    taken: tuple[str, ...] = (),
) -> tuple[str, ...]:
    """All coordinates of numbers or times that vary over other dimensions than the functions'.

    Those that are taken, as covariates are, do not count.
    """
    if names is not None:
        return as_names("inputs", names)
    input_names = tuple(
        str(name)
        for name, array in dataset.coords.items()
        if name not in (*outputs, *taken)
        and array.dtype.kind in "fiumM"
        and set(array.dims) - {*functions}
    )
    if not input_names:
        raise ValueError("expected coordinates to be the inputs, got none; name inputs=...")
    return input_names


def frame_columns(
    frame: Any,
    inputs: Any,
    outputs: Any,
    function: Any,
    codomain: str,
    taken: tuple[str, ...] = (),
) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """Named inputs; other columns of numbers as outputs (on the sphere `lat` and `lon`).

    Those that are taken, as covariates are, do not count.
    """
    if inputs is None:
        raise ValueError("expected inputs=... for a DataFrame, got none: name its input columns")
    inputs = as_names("inputs", inputs)
    (function,) = as_names("function", FUNCTION if function is None else function, 1)
    if outputs is not None:
        outputs = as_names("outputs", outputs, 2 if codomain == "sphere" else None)
    elif codomain == "sphere":
        outputs = ("lat", "lon")
    else:
        others = (*inputs, *taken, function, *frame.attrs.get(LEVELS, ()))
        _refuse_almost_numbers(frame, others)
        numbers = frame.select_dtypes(np.number).columns
        outputs = tuple(
            str(n) for n in numbers if n not in others and not _counts_rows(str(n), frame[n])
        )
    check_frame_columns(frame, (function, *inputs, *outputs, *taken))
    if not outputs or not len(frame):
        raise ValueError(f"expected rows with outputs, got {len(frame)} rows and {list(outputs)}")
    return inputs, outputs, function


def _refuse_almost_numbers(frame: Any, taken: tuple[str, ...]) -> None:
    """Refuse texts most of which are numbers: nobody would notice that they are no output."""
    import pandas as pd

    for name, column in frame.items():
        if name not in taken and (pd.api.types.is_string_dtype(column) or column.dtype == object):
            known = column.dropna().astype(str).str.replace(",", ".")
            numbers: Any = pd.to_numeric(known, errors="coerce")
            if numbers.notna().mean() > 0.5:
                got = no_numbers(column.to_numpy())
                raise ValueError(
                    f"expected outputs=... that says whether {name!r} is one, got {got}"
                )


def _counts_rows(name: str, column: Any) -> bool:
    """Whether a column without a name counts the rows, as pandas and R write their index."""
    numbers = np.sort(column.to_numpy(float))
    return name.startswith("Unnamed: ") and bool(np.all(np.diff(numbers) >= 1))
