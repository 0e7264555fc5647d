"""The functions of a batch without padding, and the inputs that they have in common."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from geomndp import _validation
from geomndp._types import Batch

MAX_TABLE_VALUES = 900
"""Values on common inputs of which a covariance is estimated."""
MIN_SHARE = 0.3
"""Share of the functions that have a common input, on average over these."""


class Curve(NamedTuple):
    """One function: inputs (n, d) and values (n, p), NaN where an output is missing."""

    x: np.ndarray
    y: np.ndarray


def curves(functions: Batch, rows=None) -> list[Curve]:
    """Functions without their padding, in double precision.

    Args:
        functions: Padded functions, with a mask (b, n), or (b, n, g) per group of outputs.
        rows: Indices of the functions wanted; by default all.

    Raises:
        ValueError: If there is no function with a real value, or one is not finite.
    """
    x, y, mask = (np.asarray(v, np.float64) for v in functions[:3])
    values = mask[..., None] if mask.ndim == 2 else mask
    values = np.repeat(values, y.shape[-1] // values.shape[-1], axis=-1) > 0
    result = []
    for row in range(len(x)) if rows is None else np.asarray(rows).tolist():
        real = values[row].any(axis=1)
        curve = Curve(x[row][real], np.where(values[row], y[row], np.nan)[real])
        _validation.finite_rows("x", curve.x)
        if np.isinf(curve.y).any() or np.isnan(y[row][values[row]]).any():
            raise ValueError(f"expected finite y, got NaN or infinity in function {row}")
        if real.any():
            result.append(curve)
    if not result:
        raise ValueError("expected functions with values, got none")
    return result


class CommonInputs(NamedTuple):
    """Inputs x (m, d) of several functions, and values (functions, m, p), NaN where missing."""

    x: np.ndarray
    values: np.ndarray


def common_inputs(functions: list[Curve]) -> CommonInputs | str:
    """Values of all functions on one table of inputs.

    Args:
        functions: The functions.

    Returns:
        The table, or why there is none.
    """
    points = np.concatenate([curve.x for curve in functions])
    scale = np.maximum(np.ptp(points, axis=0), 1e-300)
    keys = np.round((points - points.min(axis=0)) / scale * 1e7).astype(np.int64)
    _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    m, p = len(first), functions[0].y.shape[1]
    share = len(points) / (m * len(functions))
    if share < MIN_SHARE:
        return f"the functions share no inputs ({m} different ones, {share:.0%} in each function)"
    if m * p > MAX_TABLE_VALUES:
        return f"{m * p} values on common inputs are more than {MAX_TABLE_VALUES}"
    values = np.full((len(functions), m, p), np.nan)
    starts = np.cumsum([0, *(len(curve.x) for curve in functions)])
    for row, curve in enumerate(functions):
        values[row, inverse.reshape(-1)[starts[row] : starts[row + 1]]] = curve.y
    return CommonInputs(points[first], values)
