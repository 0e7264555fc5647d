"""Rounds of targets: a few that lie far apart, then groups that are each spread over all inputs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

FIRST_SHARE, GROUP_SHARE = 3, 4  # parts of the points of training
RESOLUTION = 1e-5  # of the extent: distances that rounding alone tells apart are the same


class Rounds(NamedTuple):
    """In which order targets are drawn.

    Attributes:
        first: Rows of those that are drawn first.
        groups: Rows of the others, group by group; none where the first ones are all.
        size: Most rows of a group.
    """

    first: np.ndarray
    groups: tuple[np.ndarray, ...]
    size: int


def rounds(x: np.ndarray, observed: np.ndarray, capacity: int) -> Rounds:
    """Which targets come first, and the groups of the others.

    Args:
        x: Positions of the targets, shape (n, d).
        observed: Those of the observations, shape (m, d).
        capacity: Points N of the largest training function.

    Returns:
        The rounds; first ones are each the farthest from all before, groups spread over the rest.
        Targets at one position are of one group, so that their values are drawn together.
    """
    size = max(1, capacity // GROUP_SHARE)
    number = max(1, capacity // FIRST_SHARE, capacity - len(observed) - size)
    first = np.sort(farthest_points(x, observed, number))
    rest = np.setdiff1d(np.arange(len(x)), first)
    if not len(rest):
        return Rounds(first, (), size)
    position = _positions_of(x[rest])
    group = position % min(-(-len(rest) // size), 1 + position.max())
    ends = np.cumsum(np.bincount(group))[:-1]
    groups = tuple(np.split(rest[np.argsort(group, kind="stable")], ends))
    return Rounds(first, groups, max(size, *map(len, groups)))


def _positions_of(x: np.ndarray) -> np.ndarray:
    """Number of the position of every point: along one coordinate in its order, else at random."""
    index = np.unique(x, axis=0, return_inverse=True)[1].reshape(-1)
    if x.shape[1] == 1:
        return index
    return np.random.default_rng(0).permutation(index.max() + 1)[index]


def farthest_points(x: np.ndarray, given: np.ndarray, number: int) -> np.ndarray:
    """Rows of points that are each the farthest from given ones and from those before.

    Args:
        x: Points, shape (n, d).
        given: Points that are there, shape (m, d).
        number: How many rows.

    Returns:
        At most n rows.
    """
    nearest = np.full(len(x), np.inf)
    for row in given:
        nearest = np.minimum(nearest, np.linalg.norm(x - row[None], axis=1))
    unit = RESOLUTION * float(np.max(np.ptp(x, axis=0), initial=0.0)) or 1.0
    rows: list[int] = []
    for _ in range(min(number, len(x))):
        rows.append(int(np.argmax(np.round(nearest / unit))))
        nearest = np.minimum(nearest, np.linalg.norm(x - x[rows[-1:]], axis=1))
        nearest[rows] = -1.0
    return np.asarray(rows, int)
