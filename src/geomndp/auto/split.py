"""Which functions are held out for validation: at random, by group, or the last in time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from geomndp import _validation

FEW_FUNCTIONS = 40
"""Fewer functions than this are cross-validated, those that follow each other in time too."""
ENOUGH_FUNCTIONS = 160
"""So many functions, or more, are not: a fifth of them tells as much as can be measured in time."""
NUM_FOLDS = 5
"""One of so many parts of the functions validates."""
STREAM = 2
"""Sets the draws apart from others of the same seed."""


class ValidationSplit(NamedTuple):
    """Rows of the functions that a candidate is fitted to, and of those that validate it."""

    train: np.ndarray
    held_out: np.ndarray


def split_functions(
    count: int,
    *,
    seed: int,
    groups: Sequence[str] | None = None,
    ordered: bool = False,
) -> tuple[ValidationSplit, ...]:
    """Hold out a fifth of the functions; unless they are many, each fifth in turn.

    Functions of a group stay together. Functions in the order of time are held out in one piece:
    the last ones, or, where they are few, one stretch after the other, the last one first.

    Args:
        count: Number of functions.
        seed: Seed of the choice.
        groups: One label per function; functions of one label are never divided.
        ordered: Whether functions follow each other in time.

    Returns:
        One split, or `NUM_FOLDS` of them where `cross_validates` says so.

    Raises:
        ValueError: If there are fewer than two groups to divide.
    """
    labels = np.arange(count) if groups is None else _numbered(groups, count)
    num_groups = len(np.unique(labels))
    if num_groups < 2:
        raise ValueError(f"expected at least 2 functions or groups to hold out, got {num_groups}")
    pieces = min(NUM_FOLDS, num_groups)
    position = np.arange(num_groups)
    if not ordered:
        # A stream of its own: functions shuffled with this seed would be put in order again.
        position = np.random.default_rng([seed, STREAM]).permutation(num_groups)
    fold = (position * pieces) // num_groups
    if not cross_validates(num_groups, ordered):
        return (_split(fold[labels] == pieces - 1),)
    return tuple(_split(fold[labels] == number) for number in reversed(range(pieces)))


def cross_validates(count: int, ordered: bool) -> bool:
    """Whether every function is held out once: the last ones in time are most like those to come.

    Args:
        count: Number of functions, or of groups that are not divided.
        ordered: Whether functions follow each other in time.

    Returns:
        True for fewer than `FEW_FUNCTIONS` functions, or `ENOUGH_FUNCTIONS` without an order.
    """
    return count < (FEW_FUNCTIONS if ordered else ENOUGH_FUNCTIONS)


def _split(held_out: np.ndarray) -> ValidationSplit:
    return ValidationSplit(np.flatnonzero(~held_out), np.flatnonzero(held_out))


def _numbered(groups: Sequence[str], count: int) -> np.ndarray:
    """Labels as numbers, in the order of their first function."""
    if len(groups) != count:
        raise ValueError(f"expected one group per function, {count}, got {len(groups)}")
    first = {label: number for number, label in enumerate(dict.fromkeys(groups))}
    _validation.at_least(1, groups=len(first))
    return np.array([first[label] for label in groups])
