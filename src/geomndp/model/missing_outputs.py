"""Outputs that are missing at some points: which values count, by groups that a score knows.

A mask is (n,) for whole rows, or (n, p) for values. What comes out of here is per row wherever that
says it all, so that complete data never see masks of values.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import jax
import numpy as np

from geomndp import _validation
from geomndp._arrays import put
from geomndp._types import Array
from geomndp.samplers import Observations, Problem


class Presence(NamedTuple):
    """Values with something finite where they are missing, and what counts.

    Attributes:
        y: Values (n, p).
        rows: Rows that count, bool (n,); None where all do.
        groups: Groups that count, bool (n, g); None where every row counts as a whole.
    """

    y: Any
    rows: np.ndarray | None
    groups: np.ndarray | None


def presence(y: Any, mask: Any, num_groups: int, what: str) -> Presence:
    """Split what is missing into rows and groups of outputs.

    Args:
        y: Values (n, p) that JAX does not trace, maybe masked by NumPy.
        mask: 0 and 1, shape (n,), (n, g) or (n, p); None where nothing else is missing.
        num_groups: Groups of outputs that the score knows; with one, rows in which NumPy masks a
            part of the outputs are left alone.
        what: Name of the rows, for messages.

    Raises:
        ValueError: If a part of a group is missing.
    """
    shape = np.shape(y)
    if len(shape) != 2:
        raise ValueError(f"expected y{what} of shape (n, p), got shape {shape}")
    there = np.ones(shape, bool)
    if mask is not None:
        _check_mask(mask, shape)
        there &= _spread(np.asarray(mask) > 0, shape)
    if isinstance(y, np.ma.MaskedArray) and num_groups > 1:
        there &= ~np.ma.getmaskarray(y)
        y = np.ma.getdata(y)
    rows = np.asarray(there.any(axis=1))
    if np.array_equal(there, np.broadcast_to(rows[:, None], shape)):
        return Presence(y, None if rows.all() else rows, None)
    groups = whole_groups(there, num_groups, what)
    return Presence(_filled(y, there), None if rows.all() else rows, groups)


def _check_mask(mask: Any, shape: tuple[int, ...]) -> None:
    if np.ndim(mask) == 2:
        _validation.check_groups(mask, *shape)
    else:
        _validation.shape("mask", mask, shape[:1])


def _spread(mask: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Mask of all values."""
    mask = mask[:, None] if mask.ndim == 1 else mask
    return np.repeat(mask, shape[1] // mask.shape[1], axis=1)


def whole_groups(there: np.ndarray, num_groups: int, what: str) -> np.ndarray:
    """Groups of which all outputs are there."""
    n, p = there.shape
    split = there.reshape(n, num_groups, p // num_groups)
    partly = np.asarray(split.any(axis=2) & ~split.all(axis=2))
    if partly.any():
        row = int(np.argmax(partly.any(axis=1)))
        expected = "all outputs of a row or none" if num_groups == 1 else "whole groups of outputs"
        raise ValueError(
            f"expected {expected}{what}, got a part of them in row {row}: this model was not "
            "trained with outputs that are missing apart; drop such rows"
        )
    return np.asarray(split.all(axis=2))


def _filled(y: Any, there: np.ndarray) -> Any:
    """Values with the first known one of their column, or zero, where they are missing."""
    if there.all():
        return y
    known = np.where(there, np.asarray(y), 0.0)
    first = known[np.argmax(there, axis=0), np.arange(known.shape[1])]
    filled = np.where(there, known, first[None]).astype(known.dtype)
    return filled if isinstance(y, np.ndarray) else put(filled)


def join_observed_rows(problem: Problem) -> Problem:
    """Put observations into the rows of targets that ask for what is missing there, and no more.

    A score then sees a row as in training, some of its outputs at time zero and the others at t.
    Rows are the same where their inputs are, to the last bit.

    Args:
        problem: Targets (n, d) with a mask (n, g) of target values, and observations, whose mask
            (m, g) has missing outputs.

    Returns:
        The problem with observations of single targets in `partial`: none where a mask is per row,
        or JAX traces anything.
    """
    observed, mask = problem.observations, problem.mask
    per_group = all(m is not None and m.ndim == 2 for m in (mask, observed.mask))
    if not per_group or not all(map(_validation.concrete, jax.tree.leaves(problem))):
        return problem
    rows = _matches(problem, np.asarray(mask) > 0)
    taken = rows >= 0
    if not taken.any():
        return problem
    source = np.where(taken, rows, 0)
    seen = np.asarray(observed.mask)[source] * taken[:, None]
    y, noise = (put(np.asarray(v)[source]) for v in (observed.y, observed.noise))
    partial = Observations(problem.x, y, noise, observed.noisy, put(seen, problem.x.dtype))
    left = np.setdiff1d(np.arange(len(observed.x)), rows[taken])
    parts = (observed.x, observed.y, observed.noise, observed.mask)
    x, y, noise, kept = (put(np.asarray(v)[left]) for v in parts)
    observed = Observations(x, y, noise, observed.noisy and len(left) > 0, kept)
    return dataclasses.replace(problem, observations=observed, partial=partial)


def _matches(problem: Problem, targets: np.ndarray) -> np.ndarray:
    """Observation (n,) whose row every target completes, -1 where there is none."""
    observed, free = np.asarray(problem.observations.mask) > 0, {}
    for j, key in enumerate(_row_bytes(problem.observations.x)):
        free.setdefault(key, []).append(j)
    rows = np.full(len(targets), -1)
    for i, key in enumerate(_row_bytes(problem.x)):
        fits = [j for j in free.get(key, ()) if not (observed[j] & targets[i]).any()]
        if fits and targets[i].any():
            rows[i] = fits[0]
            free[key].remove(fits[0])
    return rows


def _row_bytes(x: Array) -> list[bytes]:
    """Rows that can be looked up; zero has one sign."""
    return [row.tobytes() for row in np.asarray(x) + 0.0]
