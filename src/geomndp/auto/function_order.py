"""An order of functions and of their points that labels and rows of a table do not change.

Subsets, held-out functions and tasks are drawn by position: in the order of the labels another name
of a function would change what is fitted. Only the order of values counts, so that other units
change nothing either.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from geomndp.tables import Functions

SEED = 20_260_000
"""Of the shuffle: in the order of their contents the first functions are unlike the others."""


def in_canonical_order(functions: Functions, ordered: bool) -> tuple[Functions, np.ndarray]:
    """Functions and their points in an order that depends on nothing but their values.

    Args:
        functions: The functions, in the order of their labels.
        ordered: Whether that is their order in time, which stays.

    Returns:
        The functions, and the position of each in the order of the labels, shape (b,).
    """
    functions = in_order_of_points(functions)
    order = np.arange(len(functions.x)) if ordered else order_of_contents(functions)
    return functions.take(order), order


def in_order_of_points(functions: Functions) -> Functions:
    """Functions whose points are sorted by their inputs, padding last; of equal ones none moves.

    Args:
        functions: The functions.

    Returns:
        The same functions.
    """
    order = np.lexsort((*np.moveaxis(functions.x, 2, 0)[::-1], ~functions.rows))
    rows = np.arange(len(order))[:, None]
    x, y, mask = (values[rows, order] for values in functions[:3])
    noise = None if functions.noise is None else functions.noise[rows, order]
    return functions._replace(x=x, y=y, mask=mask, noise=noise)


def order_of_contents(functions: Functions) -> np.ndarray:
    """Positions of the functions in a random order that depends on their points alone.

    Args:
        functions: The functions.

    Returns:
        Indices, shape (b,); functions that are all the same keep their order.
    """
    rank = np.zeros(len(functions.x), int)
    for column in _columns(functions):
        if rank.max() == len(rank) - 1:
            break
        if np.ptp(column) > 0:
            value = np.unique(column, return_inverse=True)[1].reshape(-1)
            rank = np.unique(rank * len(rank) + value, return_inverse=True)[1].reshape(-1)
    order = np.argsort(rank, kind="stable")
    return order[np.random.default_rng(SEED).permutation(len(order))]


def _columns(functions: Functions) -> Iterator[np.ndarray]:
    """Numbers of points, then what is at every point, one number (b,) at a time."""
    yield functions.rows.sum(axis=1)
    mask = functions.mask if functions.mask.ndim == 3 else functions.mask[:, :, None]
    y = np.where(mask, functions.y, 0.0)
    parts = np.concatenate([~functions.rows[:, :, None], functions.x, ~mask, y], axis=2)
    points = np.lexsort(np.moveaxis(parts, 2, 0)[::-1])  # points of equal inputs by their values
    for i in range(parts.shape[1]):
        yield from parts[np.arange(len(parts)), points[:, i]].T
