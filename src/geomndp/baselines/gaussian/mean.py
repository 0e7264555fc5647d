"""Mean and standard deviation of functions by input, from a table or a regression."""

from __future__ import annotations

import itertools
import warnings
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.spatial.distance import cdist

from geomndp.baselines.gaussian.functions import CommonInputs, Curve, common_inputs
from geomndp.kernels import AbstractKernel, Bias, KernelRegression, Matern32, PeriodicInputs
from geomndp.kernels.base import Mean

MAX_CENTRES = 120
"""Inputs of the table from which a mean is regressed where the functions have none in common."""
COMPLETE = 0.9
"""Share of the functions with a value at every common input for means without a regression."""
PRIOR_FUNCTIONS = 10
"""Functions' worth of the mean variance in the variance at one input."""

Period = tuple[float | None, ...] | None


class Moments(NamedTuple):
    """Table of means and variances (m, p) at inputs (m, d), and how many functions made each."""

    x: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    functions: np.ndarray


def constant_mean(functions: list[Curve]) -> KernelRegression:
    """The mean of all values of each output."""
    values = np.concatenate([curve.y for curve in functions])
    d, p = functions[0].x.shape[1], values.shape[1]
    trend = np.concatenate([np.nanmean(values, axis=0, keepdims=True), np.zeros((d, p))])
    return KernelRegression(Bias(1.0), np.zeros((1, d)), np.zeros((1, p)), trend)


def table_moments(functions: list[Curve], *, seed: int = 0) -> tuple[Moments, bool]:
    """Means and variances by input, and whether they are those of complete common inputs."""
    table = common_inputs(functions)
    moments = None if isinstance(table, str) else _moments(table)
    if moments is None or not len(moments.x):
        return _pooled_moments(functions, seed), False
    complete = moments.functions.min() >= COMPLETE * len(functions)
    return moments, bool(complete)


def _moments(table: CommonInputs) -> Moments:
    count = np.isfinite(table.values).sum(axis=0)
    with warnings.catch_warnings():  # an input at which one output is never seen
        warnings.simplefilter("ignore", RuntimeWarning)
        mean, variance = np.nanmean(table.values, axis=0), np.nanvar(table.values, axis=0, ddof=1)
    keep = (count > 1).all(axis=1)
    return Moments(table.x[keep], mean[keep], variance[keep], count[keep])


def _pooled_moments(functions: list[Curve], seed: int) -> Moments:
    """Moments of the values nearest to each of some centres."""
    points = np.concatenate([curve.x for curve in functions])
    values = np.concatenate([curve.y for curve in functions])
    label = np.repeat(np.arange(len(functions)), [len(curve.x) for curve in functions])
    number = int(np.clip(len(points) // 20, 2, MAX_CENTRES))
    if points.shape[1] == 1:
        centres = np.quantile(points, (np.arange(number) + 0.5) / number)[:, None]
    else:
        centres = points[np.random.default_rng(seed).permutation(len(points))[:number]]
    centres = np.unique(centres, axis=0)
    scale = np.maximum(points.std(axis=0), 1e-300)
    nearest = np.argmin(cdist(points / scale, centres / scale), axis=1)
    rows = []
    for index in range(len(centres)):
        near = nearest == index
        held, seen = values[near], len(np.unique(label[near]))
        if seen > 1 and (np.isfinite(held).sum(axis=0) > 2).all():
            moments = (np.nanmean(held, axis=0), np.nanvar(held, axis=0, ddof=1))
            rows.append((points[near].mean(axis=0), *moments, np.full(held.shape[1], seen)))
    if not rows:  # too few values to say more than their mean
        every = np.full(values.shape[1], len(functions))
        rows = [(points.mean(axis=0), np.nanmean(values, 0), np.nanvar(values, 0), every)]
    return Moments(*(np.stack(column) for column in zip(*rows, strict=True)))


def _on_circle(kernel: AbstractKernel, period: Period) -> AbstractKernel:
    return kernel if period is None else PeriodicInputs(kernel, period)


def regress(moments: Moments, values, noise, period: Period, *, linear: bool) -> KernelRegression:
    """Regression of a table whose lengthscale and variance have the largest likelihood."""
    x, scale = moments.x, np.maximum(np.sqrt(np.mean(moments.variance, axis=0)), 1e-12)
    values, noise = values / scale, np.mean(noise / scale**2, axis=1)
    spread = np.maximum(np.ptp(x, axis=0), 1e-9)
    repeats = [1 if p is None else 2 for p in period or [None] * len(spread)]
    variance = max(float(np.mean(np.var(values, axis=0))), 1e-9)
    best, chosen = -np.inf, None
    for share, factor in itertools.product((0.1, 0.25, 0.6, 1.5), (0.1, 1.0)):
        lengthscale = tuple(float(v) for v in np.repeat(share * spread, repeats))
        kernel = _on_circle(Matern32(lengthscale, factor * variance), period)
        fitted = KernelRegression.fit(kernel, x, values, noise, linear=linear)
        residual = values - fitted.trend[0] - x @ fitted.trend[1:]
        with jax.enable_x64(True):
            gram = np.asarray(kernel.gram(jnp.asarray(x)).dense())
        ridge = np.maximum(noise, 1e-9 * factor * variance)
        logdet = np.linalg.slogdet(gram + np.diag(ridge))[1]
        evidence = -np.sum(fitted.weights * residual) - values.shape[1] * logdet
        if chosen is None or evidence > best:
            best, chosen = evidence, fitted
    assert chosen is not None
    return KernelRegression(chosen.kernel, x, chosen.weights * scale, chosen.trend * scale)


def empirical_mean(functions: list[Curve], period: Period = None) -> KernelRegression:
    """Mean by input: the sample mean at complete common inputs, else a smooth regression of it.

    A regression has a linear trend, unless an input is periodic: a trend would not be.
    """
    moments, complete = table_moments(functions)
    noise = moments.variance / moments.functions * (1e-6 if complete else 1.0)
    linear = not complete and not any(period or ())
    return regress(moments, moments.mean, noise, period, linear=linear)


def empirical_scale(functions: list[Curve], mean: Mean, period: Period = None) -> KernelRegression:
    """Standard deviation by input of what is left of the functions without their mean."""
    moments, complete = table_moments(residuals(functions, mean))
    square = moments.variance + moments.mean**2
    overall = np.mean(square, axis=0)
    count = moments.functions
    square = (count * square + PRIOR_FUNCTIONS * overall) / (count + PRIOR_FUNCTIONS)
    std = np.sqrt(np.maximum(square, 1e-12 * np.maximum(overall, 1e-300)))
    noise = square / (2 * count) * (1e-6 if complete else 1.0)
    return regress(moments, std, noise, period, linear=False)


CHUNK = 1024
"""Points at which a function is evaluated at once."""


@jax.jit
def _call(function: Mean, x):
    return function(x)


def evaluate(function: Mean, x: np.ndarray) -> np.ndarray:
    """Values (n, p) of a function at inputs (n, d), in double precision."""
    padded = np.concatenate([x, np.zeros((-len(x) % CHUNK, x.shape[1]))])
    with jax.enable_x64(True):
        parts = [_call(function, padded[i : i + CHUNK]) for i in range(0, len(padded), CHUNK)]
        return np.concatenate([np.asarray(part) for part in parts])[: len(x)]


def residuals(functions: list[Curve], mean: Mean, scale: Mean | None = None) -> list[Curve]:
    """Functions without a mean, and divided by a scale."""
    x, y = (np.concatenate(column) for column in zip(*functions, strict=True))
    left = y - evaluate(mean, x)
    left = left if scale is None else left / evaluate(scale, x)
    ends = np.cumsum([len(curve.x) for curve in functions])[:-1]
    parts = zip(functions, np.split(left, ends), strict=True)
    return [Curve(curve.x, values) for curve, values in parts]
