"""Means of columns that rounding does not move out of their range."""

from __future__ import annotations

import numpy as np


def column_means(values: np.ndarray) -> np.ndarray:
    """Mean of every column, of the values that are there and within their range.

    A constant column has its own value as mean, to the last bit. The plain mean of many 0.1 is
    another number, and what is left after it is subtracted would pass for a spread of 1e-17.

    Args:
        values: Shape (n, k); NaN where a value is missing.

    Returns:
        Shape (k,); NaN for a column without values.
    """
    if np.isnan(values).any():
        low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
        return np.clip(np.nanmean(values, axis=0), low, high)
    return np.clip(np.mean(values, axis=0), values.min(axis=0), values.max(axis=0))
