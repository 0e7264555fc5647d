"""Data that a fit cannot learn from though nothing in them is wrong in form: said, not hidden."""

from __future__ import annotations

import numpy as np

from geomndp._warnings import warn_at_request
from geomndp.tables import Functions

ROUNDING = 1e-12
"""Range of values, relative to the largest, that counts as none."""
MAX_SHARE = 0.9
"""Share of all squared deviations that one of many values may have."""
MANY = 50
"""So many values are many."""


def warn_of_values(functions: Functions) -> None:
    """Warn of outputs that are constant or have one value far from all others, and of functions
    that are all the same.

    Args:
        functions: Functions in the data's units.
    """
    if functions.variables.codomain != "real":
        return
    y = np.asarray(functions.y, np.float64)
    mask = functions.mask if functions.mask.ndim == 3 else functions.mask[..., None]
    known = np.broadcast_to(mask, y.shape)
    for number, name in enumerate(functions.variables.output_names):
        values = y[..., number][known[..., number]]
        if len(values) > 1 and np.ptp(values) <= ROUNDING * np.abs(values).max():
            _warn(f"{name!r} is {values[0]:g} at every point")
            return
        middle = float(np.median(values))
        squares = (values - middle) ** 2
        if len(values) >= MANY and squares.max() > MAX_SHARE * squares.sum():
            warn_at_request(
                f"one value of {name!r}, {values[np.argmax(squares)]:g}, is so far from the "
                f"median, {middle:g}, that it alone sets the scale of all {len(values)}: a "
                "mistake, or an output to give in logarithms?",
                UserWarning,
            )
    whole = len(y) > 1 and bool(np.all(known == known[:1]))
    same_inputs = whole and bool(np.all(functions.x == functions.x[:1]))
    if same_inputs:
        filled = np.where(known, y, 0.0)
        if np.ptp(filled, axis=0).max() <= ROUNDING * np.abs(filled).max():
            _warn(f"all {len(y)} functions have the same values")


def _warn(what: str) -> None:
    warn_at_request(
        f"{what}: nothing is random there, so that log-densities have no bound and say nothing; "
        "expected values that differ",
        UserWarning,
    )
