"""What is asked of inputs and covariates: that they are known where values are, and numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from geomndp._warnings import warn_at_request


def check_numbers(columns: Mapping[str, np.ndarray], names: tuple[str, ...]) -> None:
    """Refuse times as covariates and as periodic inputs.

    Args:
        columns: Columns of a table by name.
        names: Which of them must be numbers.

    Raises:
        ValueError: If one holds datetimes or durations.
    """
    for name in names:
        if name in columns and columns[name].dtype.kind in "mM":
            raise ValueError(
                f"expected numbers in {name!r}, such as the day of the year or the hour, got times"
            )


def check_known(
    covariates: Mapping[str, np.ndarray],
    there: np.ndarray,
    in_words: Callable[[np.ndarray], str],
) -> None:
    """Refuse covariates that are missing where there is a value.

    Args:
        covariates: Columns (b, n) by name.
        there: Points (b, n) with known inputs and a value.
        in_words: What the functions of a mask (b,) are called.

    Raises:
        ValueError: If one is missing, with its function and point.
    """
    for name, values in covariates.items():
        if np.any(missing := there & np.isnan(values)):
            function, point = (int(i) for i in np.argwhere(missing)[0])
            raise ValueError(
                f"expected the covariate {name!r} wherever there is a value, got none in "
                f"{in_words(np.arange(len(missing)) == function)}, point {point}"
            )


def check_dimensions(columns: Mapping[str, Any], wanted: set) -> None:
    """Refuse covariates and variances over dimensions that the values do not have.

    Args:
        columns: Dimensions of each, by name.
        wanted: Dimensions of the values.

    Raises:
        ValueError: If there is another.
    """
    for name, dims in columns.items():
        if other := [dim for dim in dims if dim not in wanted]:
            listed = ", ".join(map(repr, sorted(map(str, wanted))))
            raise ValueError(f"expected {name!r} over dimensions of {listed}, got {other[0]!r}")


def warn_of_lost(inputs: Mapping[str, np.ndarray], outputs: list[np.ndarray]) -> None:
    """Warn of rows with a value whose location is not known, which nothing can be learnt from.

    Args:
        inputs: Columns (n,) by name.
        outputs: Columns (n,).
    """
    there = np.any([~_missing(values) for values in outputs], axis=0)
    lost = {name: there & _missing(values) for name, values in inputs.items()}
    number = int(np.any(list(lost.values()), axis=0).sum())
    if number:
        names = ", ".join(repr(name) for name, rows in lost.items() if rows.any())
        warn_at_request(
            f"{number} of {len(there)} rows are left out: they have a value, but no {names}",
            UserWarning,
        )


def _missing(values: np.ndarray) -> np.ndarray:
    """Where there is neither a number nor a time; what is something else is refused elsewhere."""
    if values.dtype.kind in "mM":
        return np.isnat(values)
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, bool)
