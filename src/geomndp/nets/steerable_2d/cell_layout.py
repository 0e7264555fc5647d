r"""Static sizes of a fast Gauss transform over occupied cells, from concrete points.

Cells are about two widths wide. Sources of a cell act through the moments of their Chebyshev
polynomials, on cells at most `reach` away, so that the error of one weight is at most
$\epsilon$ of `ERRORS`. The error of an average at point i is then at most
$\epsilon N_i / W_i$ with $N_i$ the number of points in reach and $W_i$ its sum of weights, of which
a lower bound comes from counts in cells of half a width.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from geomndp._arrays import bucket

TOLERANCE = 1e-5
"""Largest error of an average, over the largest value that is averaged."""
WIDTHS_PER_CELL = 2.0
BLOCK = 16  # points of one cell that are summed together
STRIDE = 2**15  # of the first coordinate of a cell in its key
FARTHEST = STRIDE // 2 - 8  # cells from the origin of the inputs
ROUNDING = 1e-5  # of a cell: the device compares rounded coordinates
FINE_REACH = 3  # cells of half a width around a point of which weights are counted


class Accuracy(NamedTuple):
    """Chebyshev polynomials per coordinate, and how many cells away the farthest sources are."""

    order: int
    reach: int


ERRORS = {Accuracy(12, 3): (3.5e-8, 8e-7), Accuracy(16, 4): (1e-11, 1e-10)}
"""Largest error of a weight, and of any angular moment of it, by accuracy."""


class CellLayout(NamedTuple):
    """Sizes of the arrays of one width, which are part of a compiled program.

    Attributes:
        accuracy: Order and reach.
        cells: Occupied cells for which there is room.
        columns: Cells that see an occupied one along the first coordinate.
        blocks: Blocks of at most `BLOCK` points of one cell.
    """

    accuracy: Accuracy
    cells: int
    columns: int
    blocks: int


def cell_width(width: float) -> float:
    """Two widths, rounded down to 8 bits: multiples of it are exact in float32."""
    mantissa, exponent = math.frexp(WIDTHS_PER_CELL * width)
    return math.ldexp(math.floor(256 * mantissa) / 256, exponent)


def cell_layout(x: np.ndarray, width: float, angular: bool) -> CellLayout | None:
    """Sizes that suffice for these points and all subsets of them.

    Args:
        x: Locations (n, 2).
        width: Standard deviation of the Gaussian weights.
        angular: Whether angular moments are needed too.

    Returns:
        The layout; None where points are too far from the origin, or their density so uneven that
        the error may exceed `TOLERANCE`.
    """
    position = np.asarray(x, float) / cell_width(width)
    farthest = float(np.max(np.abs(position), initial=0.0))
    if farthest > FARTHEST:
        return None
    contrast = _contrast(position)
    fitting = [a for a, errors in ERRORS.items() if errors[angular] * contrast <= TOLERANCE]
    if not fitting:
        return None
    slack = ROUNDING + 4 * np.finfo(np.float32).eps * farthest
    shifts = [(a, b) for a in (-slack, slack) for b in (-slack, slack)]
    keys = np.sort(np.stack([_keys(np.floor(position + np.asarray(s))) for s in shifts], 1), 1)
    new = np.concatenate([np.ones((len(keys), 1), bool), keys[:, 1:] != keys[:, :-1]], axis=1)
    cells, counts = np.unique(keys[new], return_counts=True)
    reach = fitting[0].reach
    columns = np.unique(cells[:, None] + STRIDE * np.arange(-reach, reach + 1)[None])
    blocks = int(np.sum(-(-counts // BLOCK)))
    return CellLayout(fitting[0], bucket(len(cells)), bucket(len(columns)), bucket(blocks))


def _keys(cell: np.ndarray) -> np.ndarray:
    """One number per cell (n, 2)."""
    shifted = cell.astype(np.int64) + STRIDE // 2
    return shifted[:, 0] * STRIDE + shifted[:, 1]


def _contrast(position: np.ndarray) -> float:
    """Largest number of points in reach of a point over (a lower bound of) its sum of weights."""
    reach = max(accuracy.reach for accuracy in ERRORS)
    near = _window_sums(np.floor(position), np.ones((2 * reach + 1,) * 2))
    steps = np.abs(np.arange(-FINE_REACH, FINE_REACH + 1)) + 1
    least = np.exp(-0.5 * (0.5 * steps) ** 2)  # weight of the farthest corners
    fine = np.floor(position * 2 * WIDTHS_PER_CELL)
    weights = np.maximum(_window_sums(fine, least[:, None] * least[None]), 1.0)
    return float(np.max(near / weights, initial=0.0))


def _window_sums(cell: np.ndarray, window: np.ndarray) -> np.ndarray:
    """Sums of the window's weights over the points in the cells around each point."""
    stride = 2**32
    keys = (cell[:, 0].astype(np.int64) * stride) + cell[:, 1].astype(np.int64)
    cells, owner, counts = np.unique(keys, return_inverse=True, return_counts=True)
    sums, half = np.zeros(len(cells)), len(window) // 2
    for (row, column), weight in np.ndenumerate(window):
        query = cells + (row - half) * stride + (column - half)
        index = np.minimum(np.searchsorted(cells, query), len(cells) - 1)
        sums += weight * np.where(cells[index] == query, counts[index], 0)
    return sums[owner]
