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
MAX_TIED = 0.25
"""Share of many values that may be one and the same number."""
MAX_REPEATED = 0.1
"""Share of the rows that may repeat another row of their function."""
MIN_OVERLAPPING = 0.1
"""Share of the pairs of functions whose dates overlap below which they hardly share any."""
MIN_AGREEING = 5
"""So many functions, and half of all, that have the same value at an input: not by chance."""


def warn_of_values(functions: Functions) -> None:
    """Warn of outputs that are constant, at every input or at some, of which one value is far from
    all others or very frequent, of repeated rows, and of functions that are all the same.

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
        _check_within(name, y[..., number], known[..., number])
        if len(values) >= MANY:
            _check_wild(name, values)
            _check_ties(name, values)
    whole = len(y) > 1 and bool(np.all(known == known[:1]))
    same_inputs = whole and bool(np.all(functions.x == functions.x[:1]))
    if same_inputs:
        filled = np.where(known, y, 0.0)
        if np.ptp(filled, axis=0).max() <= ROUNDING * np.abs(filled).max():
            _warn(f"all {len(y)} functions have the same values")
            return
    for number, name in enumerate(functions.variables.output_names):
        _check_agreement(name, functions.x, y[..., number], known[..., number])
    _check_repeats(functions)


def warn_of_own_dates(functions: Functions, symmetry: str) -> None:
    """Warn of functions each of which has dates of its own, where the date itself shall matter.

    Args:
        functions: Functions in the data's units.
        symmetry: Symmetry of the model.
    """
    if symmetry != "none" or len(functions.x) < MIN_AGREEING:
        return
    for number, variable in enumerate(functions.variables.inputs):
        if " since " not in variable.units:
            continue
        dates, there = functions.x[..., number], functions.rows
        first = np.sort(np.where(there, dates, np.inf).min(axis=1))
        last = np.where(there, dates, -np.inf).max(axis=1)
        later = len(first) - np.searchsorted(first, last, side="right")
        overlapping = 1 - later.sum() / (len(first) * (len(first) - 1) / 2)
        if overlapping < MIN_OVERLAPPING:
            _say(
                f"every function has dates {variable.name!r} of its own ({overlapping:.0%} of the "
                "pairs of functions overlap): with symmetry 'none' a model learns what happens at "
                "a date, which says nothing of another one; give an input that functions share, "
                "such as the hour of the day or the day of the year, or symmetry 'translation' for "
                "elapsed time"
            )


def _check_within(name: str, y: np.ndarray, known: np.ndarray) -> None:
    """Warn of an output that is one number per function: a property of it, no course."""
    several = known.sum(axis=1) > 1
    low, high = (np.where(known, y, end) for end in (np.inf, -np.inf))
    if several.sum() >= MIN_AGREEING and np.all(
        low[several].min(axis=1) == high[several].max(axis=1)
    ):
        _say(
            f"{name!r} is the same at all points of every function: given one point nothing is "
            "random, so that log-densities have no bound and say nothing; name the outputs without "
            "it, or give it as a covariate"
        )


def _check_wild(name: str, values: np.ndarray) -> None:
    """Warn of one value that sets the scale of all."""
    middle = float(np.median(values))
    squares = (values - middle) ** 2
    if squares.max() > MAX_SHARE * squares.sum():
        _say(
            f"one value of {name!r}, {values[np.argmax(squares)]:g}, is so far from the "
            f"median, {middle:g}, that it alone sets the scale of all {len(values)}: a "
            "mistake, or an output to give in logarithms?"
        )


def _check_ties(name: str, values: np.ndarray) -> None:
    """Warn of a number that many values are: a law with a density gives it no probability."""
    numbers, counts = np.unique(values, return_counts=True)
    share = counts.max() / len(values)
    if share > MAX_TIED:
        _say(
            f"{share:.0%} of the values of {name!r} are {numbers[np.argmax(counts)]:g}: to a law "
            "with a density no value has a probability of its own, so that log-densities and the "
            "coverage of intervals say little here; samples will be near that value, not equal to "
            "it"
        )


def _check_agreement(name: str, x: np.ndarray, y: np.ndarray, known: np.ndarray) -> None:
    """Warn of inputs at which all functions have the same value."""
    values = y[known]
    locations, index = np.unique(x[known], axis=0, return_inverse=True)
    index = index.reshape(-1)
    low, high = np.full(len(locations), np.inf), np.full(len(locations), -np.inf)
    np.minimum.at(low, index, values)
    np.maximum.at(high, index, values)
    enough = np.bincount(index) >= max(MIN_AGREEING, len(x) / 2)
    same = enough & (high - low <= ROUNDING * max(np.abs(values).max(), 1e-300))
    if same.any():
        at = ", ".join(f"{part:g}" for part in locations[np.argmax(same)])
        _warn(
            f"at {same.sum()} of {len(locations)} inputs all functions have the same {name!r}, "
            f"first at ({at}) the value {low[np.argmax(same)]:g}"
        )


def _check_repeats(functions: Functions) -> None:
    """Warn of many rows that repeat another row of their function, inputs and outputs alike."""
    rows, mask = functions.rows, functions.mask
    label = np.nonzero(rows)[0][:, None]
    values = np.where(mask if mask.ndim == 3 else mask[..., None], functions.y, -1e308)[rows]
    table = np.concatenate([label, functions.x[rows], values], axis=1)
    repeated = len(table) - len(np.unique(table, axis=0))
    if repeated > MAX_REPEATED * len(table):
        _say(
            f"{repeated} of {len(table)} rows repeat another row of their function, inputs and "
            "outputs alike: measured once and written twice? What is predicted at the input of an "
            "observation would be taken for known; drop the repeats"
        )


def _warn(what: str) -> None:
    _say(
        f"{what}: nothing is random there, so that log-densities have no bound and say nothing; "
        "expected values that differ"
    )


def _say(message: str) -> None:
    warn_at_request(message, UserWarning)
