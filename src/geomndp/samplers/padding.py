"""Padding of problems to one of few sizes.

Padding repeats the last real row, so that values on a manifold stay on it, with a mask of zero.
The arrays are made by NumPy and put on the device as they are: no new size compiles anything.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from geomndp._arrays import put
from geomndp._types import Array, Mask
from geomndp.samplers.problem import Observations, Problem


def pad_rows(values: Array, size: int) -> Array:
    """Repeat the last row.

    Args:
        values: Concrete array (n, ...).
        size: Number of rows, at least n.

    Returns:
        Array (size, ...).
    """
    if len(values) == size:
        return values
    rows = np.minimum(np.arange(size), len(values) - 1)
    return put(np.asarray(values)[rows])


def pad_mask(mask: Mask | None, n: int, size: int, dtype) -> Array:
    """Mask of n points and padding.

    There is one also where nothing is padded: a full bucket takes the program of the others.

    Args:
        mask: Mask (n,) of the points, or None.
        n: Number of points.
        size: Number of rows, at least n.
        dtype: Floating-point type.

    Returns:
        Mask (size,).
    """
    padded = np.zeros(size, dtype=dtype)
    padded[:n] = 1.0 if mask is None else np.asarray(mask)
    return put(padded)


def pad_observations(observations: Observations, size: int) -> Observations:
    """Pad observations.

    Args:
        observations: m context points.
        size: Number of rows, at least m; none stay none.

    Returns:
        Observations with a mask.
    """
    m = len(observations.x)
    if size == 0:
        return observations
    return Observations(
        pad_rows(observations.x, size),
        pad_rows(observations.y, size),
        pad_rows(observations.noise, size),
        observations.noisy,
        pad_mask(observations.mask, m, size, observations.x.dtype),
    )


def pad_problem(problem: Problem, contexts: int, targets: int) -> Problem:
    """Pad a problem.

    Args:
        problem: Model, targets and observations.
        contexts: Number of context points of the result.
        targets: Number of target points of the result.

    Returns:
        Problem with masks, its own points first.
    """
    n = len(problem.x)
    return dataclasses.replace(
        problem,
        x=pad_rows(problem.x, targets),
        observations=pad_observations(problem.observations, contexts),
        mask=pad_mask(problem.mask, n, targets, problem.x.dtype),
    )
