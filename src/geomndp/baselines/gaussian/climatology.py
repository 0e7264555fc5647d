"""Independent values with the mean and the variance of the functions at their input."""

from __future__ import annotations

import time

import numpy as np

from geomndp._types import Batch
from geomndp.baselines.gaussian.functions import curves
from geomndp.baselines.gaussian.mean import (
    Period,
    empirical_mean,
    empirical_scale,
    evaluate,
    residuals,
)
from geomndp.baselines.gaussian.result import GaussianFit
from geomndp.gp import GP
from geomndp.kernels import Diagonal, Modulated, White
from geomndp.linalg import LOG_2PI


def fit_climatology(
    functions: Batch, *, train=None, validation=None, period: Period = None
) -> GaussianFit:
    """Fit means and variances by input, of values that are independent of each other.

    Args:
        functions: Functions as for `fit_gp`.
        train: Indices of the functions to fit; by default all that are not held out.
        validation: Indices of the held-out functions; by default none are.
        period: Period of every input, None for one that is not periodic; None where none is.

    Returns:
        The process; its values are the same whatever is observed.
    """
    began = time.monotonic()
    held = [] if validation is None else [int(row) for row in validation]
    if train is None:
        train = sorted(set(range(len(functions.x))) - set(held))
    fitted = curves(functions, train)
    mean = empirical_mean(fitted, period)
    scale = empirical_scale(fitted, mean, period)
    evaluated = curves(functions, held) if held else fitted
    x = np.concatenate([curve.x for curve in evaluated])
    z = np.concatenate([curve.y for curve in residuals(evaluated, mean, scale)])
    nats = -0.5 * z**2 - np.log(np.abs(evaluate(scale, x))) - 0.5 * LOG_2PI
    white = Diagonal(White(), fitted[0].y.shape[1])
    average = float(np.nanmean(nats))
    process = GP(Modulated(white, scale), mean)
    return GaussianFit(process, "climatology", average, seconds=time.monotonic() - began)
