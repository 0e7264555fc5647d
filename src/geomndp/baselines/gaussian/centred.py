"""Functions without their mean, in units of their scale: what kernels are fitted to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from geomndp import _validation
from geomndp.baselines.gaussian.designs import Groups, designs, subsets
from geomndp.baselines.gaussian.functions import Curve
from geomndp.baselines.gaussian.hyperparameters import start
from geomndp.baselines.gaussian.likelihood import Designs, Hyperparameters
from geomndp.baselines.gaussian.mean import (
    Period,
    constant_mean,
    empirical_mean,
    empirical_scale,
    evaluate,
    residuals,
)
from geomndp.baselines.gaussian.result import Candidate
from geomndp.kernels.base import Mean

MAX_FUNCTIONS = 256
"""Most functions of a fit that do not have the same inputs."""


class Centred(NamedTuple):
    """Functions without their mean, in units of one scale per output and perhaps per input."""

    mean: Mean
    scale: Mean | None
    unit: np.ndarray
    train: Designs
    validation: Designs | None
    log_unit: float
    """Mean logarithm of the units of the values of the held-out functions, or of all."""
    first: Hyperparameters


class FitSettings(NamedTuple):
    """Arguments of a fit that are the same for all forms."""

    groups: Groups
    period: Period
    max_values: int
    seed: int
    work: float


def centre(
    functions: list[Curve], held: list[Curve] | None, candidate: Candidate, settings: FitSettings
) -> Centred:
    """Remove the mean, divide by the scale, and make the arrays of the likelihood."""
    _validation.one_of("mean", candidate.mean, ("empirical", "constant"))
    _validation.one_of("amplitude", candidate.amplitude, ("constant", "varying", "signal"))
    empirical = candidate.mean == "empirical"
    mean = empirical_mean(functions, settings.period) if empirical else constant_mean(functions)
    constant = candidate.amplitude == "constant"
    scale = None if constant else empirical_scale(functions, mean, settings.period)
    divisor = scale if candidate.amplitude == "varying" else None
    left = residuals(functions, mean, divisor)
    unit = np.sqrt(np.nanmean(np.concatenate([c.y for c in left]) ** 2, axis=0))
    unit = np.maximum(unit, max(1e-3 * unit.max(), 1e-12))  # an output may be constant

    def arrays(functions: list[Curve], like: Designs | None = None) -> Designs:
        few = _few([Curve(c.x, c.y / unit) for c in functions], settings)
        signal = scale if candidate.amplitude == "signal" else None
        amplitude = None if signal is None else lambda x: evaluate(signal, x) / unit
        return designs(few, settings.groups, settings.period, amplitude=amplitude, like=like)

    train = arrays(left)
    rest = None if held is None else residuals(held, mean, divisor)
    validation = None if rest is None else arrays(rest, like=train)
    log_unit = _mean_log(functions if held is None else held, unit, divisor)
    first = _first([Curve(c.x, c.y / unit) for c in left], settings)
    return Centred(mean, scale, unit, train, validation, log_unit, first)


def _mean_log(functions: list[Curve], unit: np.ndarray, divisor: Mean | None) -> float:
    """Mean logarithm of the numbers that values were divided by."""
    x, y = (np.concatenate(column) for column in zip(*functions, strict=True))
    logs = np.log(unit) + 0 * y
    if divisor is not None:
        logs = logs + np.log(np.abs(evaluate(divisor, x)))
    return float(np.nanmean(logs))


def _few(functions: list[Curve], settings: FitSettings) -> list[Curve]:
    """Random points of so many functions as the work allows."""
    order = np.random.default_rng(settings.seed).permutation(len(functions))
    chosen = subsets([functions[i] for i in order], settings.max_values, seed=settings.seed)
    sizes = np.cumsum([curve.y.size**3 for curve in chosen])
    most = max(2, int(np.searchsorted(sizes, settings.work)))
    shared = len({curve.x.tobytes() for curve in chosen}) == 1
    return chosen[: len(chosen) if shared else min(most, MAX_FUNCTIONS)]


def _first(functions: list[Curve], settings: FitSettings) -> Hyperparameters:
    points = np.concatenate([curve.x for curve in functions])
    span = np.array(
        [max(float(np.ptp(points[:, list(g)], axis=0).max()), 1e-9) for g in settings.groups]
    )
    counts = [np.maximum(np.isfinite(curve.y).sum(axis=0), 1) for curve in functions]  # 0: missing
    offsets = np.stack([np.nansum(c.y, axis=0) / n for c, n in zip(functions, counts, strict=True)])
    within = np.concatenate(
        [np.nan_to_num(c.y - o) for c, o in zip(functions, offsets, strict=True)]
    )
    within_covariance = np.atleast_2d(within.T @ within) / len(within)
    return start(within_covariance, np.atleast_2d(offsets.T @ offsets) / len(offsets), span, 0.05)
