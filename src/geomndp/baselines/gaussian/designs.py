"""Functions as the arrays of their pooled likelihood: subsets of points, grouped and padded."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from geomndp import _arrays
from geomndp.baselines.gaussian.functions import Curve
from geomndp.baselines.gaussian.likelihood import Designs
from geomndp.baselines.gaussian.mean import Period

Groups = tuple[tuple[int, ...], ...]
"""Columns of the inputs with one lengthscale each."""


def squared_differences(x: np.ndarray, groups: Groups, period: Period) -> np.ndarray:
    """Squared differences (n, n, g) of inputs (n, d); of periodic ones those on their circle."""
    difference = x[:, None] - x[None]
    for column, length in enumerate(period or ()):
        if length is not None:
            chord = length / math.pi * np.sin(math.pi * difference[..., column] / length)
            difference[..., column] = chord
    return np.stack([np.sum(difference[..., list(g)] ** 2, axis=-1) for g in groups], axis=-1)


def subsets(functions: list[Curve], max_values: int, *, seed: int) -> list[Curve]:
    """Random points of every function, the same ones where all functions have the same inputs."""
    rng = np.random.default_rng(seed)
    p = functions[0].y.shape[1]
    same = _same_inputs(functions)
    most = max(2, (2 if same else 1) * max_values // p)
    common = np.sort(rng.permutation(len(functions[0].x))[:most])
    result = []
    for x, y in functions:
        rows = common if same else np.sort(rng.permutation(len(x))[:most])
        result.append(Curve(x[rows], y[rows]))
    return result


def _same_inputs(functions: list[Curve]) -> bool:
    first = functions[0]
    return all(
        len(curve.x) == len(first.x)
        and np.array_equal(curve.x, first.x)
        and np.isfinite(curve.y).all()
        for curve in functions
    )


def designs(
    functions: list[Curve],
    groups: Groups,
    period: Period,
    *,
    amplitude: Callable[[np.ndarray], np.ndarray] | None = None,
    like: Designs | None = None,
) -> Designs:
    """Group centred functions by their inputs and missing values, and pad them.

    Args:
        functions: Centred functions.
        groups: Columns of the inputs with one lengthscale each.
        period: Periods of the inputs.
        amplitude: Factor (n, p) of the functions at inputs (n, d), by default one.
        like: Designs whose shapes are wanted, if these are not smaller.

    Returns:
        The arrays.
    """
    held: dict[bytes, list[Curve]] = {}
    for curve in functions:
        key = curve.x.tobytes() + np.isfinite(curve.y).tobytes()
        held.setdefault(key, []).append(curve)
    p = functions[0].y.shape[1]
    n = _arrays.bucket(max(len(curve.x) for curve in functions))
    rank = min(n * p, _arrays.bucket(max(map(len, held.values()))))
    shape = (len(held), n, rank)
    if like is not None:
        other = (len(like.number), like.mask.shape[1], like.root.shape[2])
        shape = tuple(max(pair) for pair in zip(shape, other, strict=True))
    f, n, rank = shape
    squares, mask = np.zeros((f, n, n, len(groups))), np.zeros((f, n, p))
    factor = np.ones((f, n, p))
    root, count = np.zeros((f, n * p, rank)), np.zeros(f)
    for index, group in enumerate(held.values()):
        x, number = group[0].x, len(group[0].x)
        squares[index, :number, :number] = squared_differences(x, groups, period)
        mask[index, :number] = np.isfinite(group[0].y)
        if amplitude is not None:
            factor[index, :number] = amplitude(x)
        values = np.zeros((len(group), n, p))
        values[:, :number] = [np.nan_to_num(curve.y) for curve in group]
        flat = values.reshape(len(group), -1)
        if len(group) > rank:
            flat = np.asarray(np.linalg.qr(flat, mode="r"))
        root[index, :, : len(flat)] = flat.T
        count[index] = len(group)
    return Designs(squares, mask, factor, root, count)
