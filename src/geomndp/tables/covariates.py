"""What is asked of covariates and periodic inputs: numbers, known at every point."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


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


def check_known(covariates: Mapping[str, np.ndarray], there: np.ndarray) -> None:
    """Refuse covariates that are missing where there is a value.

    Args:
        covariates: Columns (b, n) by name.
        there: Points (b, n) with known inputs and a value.

    Raises:
        ValueError: If one is missing, with its function and point.
    """
    for name, values in covariates.items():
        if np.any(missing := there & np.isnan(values)):
            function, point = (int(i) for i in np.argwhere(missing)[0])
            raise ValueError(
                f"expected the covariate {name!r} wherever there is a value, got none in function "
                f"{function}, point {point}"
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
