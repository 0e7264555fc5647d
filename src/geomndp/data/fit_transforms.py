"""Transforms of outputs that a set of functions allows: candidates for a choice by validation."""

from __future__ import annotations

import numpy as np

from geomndp import _validation
from geomndp._types import Batch
from geomndp.data.transforms import AbstractTransform, BoxCox, Identity, Logit, LogTransform

MIN_RATIO = 2.0
"""Ratio of the largest to the smallest value below which a power of y is nearly linear."""
MIN_SKEWNESS = 0.5
"""Skewness from which on a shifted logarithm is a candidate for values of both signs."""
EXPONENTS = (0.25, 0.5, 0.75, 1.5, 2.0, 3.0)
"""Exponents of which the likeliest is a candidate; of a negative one a Gaussian law has mass at
infinity, and no mean."""
BOUNDS = (1.0, 100.0)
"""Upper bounds of shares and percentages, whose lower bound is zero."""


def fit_transforms(functions: Batch) -> dict[str, tuple[AbstractTransform, ...]]:
    """Transforms of the outputs that the values of some functions allow.

    Powers and logarithms are for outputs without negative values that range over at least a factor
    of two, a shifted logarithm for skew outputs of both signs, logits for shares and percentages.
    Which one is best is for a likelihood to say, with its log-Jacobian.

    Args:
        functions: Functions in the data's units; only real points are read.

    Returns:
        For every candidate a short name and one transform per output, `Identity` for outputs that
        do not allow it. The first, "identity", is `()`.

    Raises:
        ValueError: If there is no real point, or one is NaN or infinite.

    Example:
        `Normaliser.fit(functions, transform=fit_transforms(functions)["log"])`
    """
    y, real = np.asarray(functions.y, np.float64), np.asarray(functions.mask) > 0
    real = real if real.ndim == 3 else real[..., None]
    real = np.repeat(real, y.shape[2] // real.shape[2], axis=2)
    if not real.any(axis=(0, 1)).all():
        raise ValueError("expected at least one real point, got none")
    _validation.finite_rows("y", np.where(real, y, 0.0)[real.any(axis=2)])
    per_output = [_candidates(y[..., j][real[..., j]]) for j in range(y.shape[2])]
    names = dict.fromkeys(name for candidates in per_output for name in candidates)
    found = {name: tuple(c.get(name, Identity()) for c in per_output) for name in names}
    return {"identity": ()} | found


def _candidates(y: np.ndarray) -> dict[str, AbstractTransform]:
    """Transforms of one output, by name."""
    low, high = float(y.min()), float(y.max())
    if low == high:
        return {}
    if low < 0:
        return {"shifted log": LogTransform(high - 2 * low)} if _skewness(y) > MIN_SKEWNESS else {}
    found: dict[str, AbstractTransform] = {}
    shift = _gap(y)
    if high + shift >= MIN_RATIO * (low + shift):
        found["log"] = LogTransform(shift)
        exponent = max(EXPONENTS, key=lambda value: _log_likelihood(y + shift, value))
        found["box-cox"] = BoxCox(exponent, shift)
    for bound in BOUNDS:
        if bound / 2 < high <= bound:
            margin = 0.0 if low > 0 and high < bound else 0.01 * bound
            below, above = max(margin, _gap(y)), max(margin, _gap(bound - y))
            found["logit"] = Logit(-below, bound + above)
    return found


def _gap(distance: np.ndarray) -> float:
    """Distance from an end at which values begin: zero where none is at the end itself.

    A transform is steep near its end, so that many equal values there have a high density for no
    merit of the law. The more of them there are, the farther away is the end: at half the distance
    that has as large a share of the other values below it.
    """
    share = float(np.mean(distance == 0))
    return float(np.quantile(distance[distance > 0], share)) / 2 if share > 0 else 0.0


def _skewness(y: np.ndarray) -> float:
    centred = y - y.mean()
    return float(np.mean(centred**3) / np.mean(centred**2) ** 1.5)


def _log_likelihood(y: np.ndarray, exponent: float) -> float:
    """Of independent values that are Gaussian after the power, per value, at its best moments."""
    power = BoxCox(exponent)
    return float(np.mean(power.log_derivative(y)) - 0.5 * np.log(np.var(power.forward(y))))
