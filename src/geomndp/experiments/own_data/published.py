"""The Gaussian baselines that a folder publishes, rebuilt from their stored parameters.

`results.json` of a set keeps the choice and the hyperparameters of its pooled process, and the
weight of its shrunk sample covariance. Rebuilt, they are processes like any other, so that paired
differences to exactly these laws can be computed; their means are those that the folder states.
"""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from geomndp import kernels
from geomndp.baselines.gaussian.functions import Curve
from geomndp.data import Normaliser
from geomndp.data.transforms import BoxCox, LogTransform
from geomndp.experiments.own_data.data_sets import FUNCTION, FunctionSet
from geomndp.experiments.own_data.published_mean import (
    FeatureMean,
    TableMean,
    common_table,
    table_means,
)
from geomndp.gp import GP
from geomndp.kernels import AbstractKernel
from geomndp.model import ProcessModel
from geomndp.predictive import AbstractProcess
from geomndp.tables import name_variables

KERNELS = {
    "SE": kernels.SquaredExponential,
    "M12": kernels.Matern12,
    "M32": kernels.Matern32,
    "M52": kernels.Matern52,
}
SEED = (20261116, 11)
"""Seed of the draws by which the baselines were fitted, before the checksum of a set's name."""
NOISE_FLOOR = 1e-6
OUTPUT_JITTER = 0.02  # on the covariance of many outputs


class PublishedFit(NamedTuple):
    """Units, kernel and noise of a published process, and its training functions in its units."""

    units: Normaliser
    kernel: AbstractKernel
    noise: tuple[float, ...]
    curves: list[Curve]


def published_processes(function_set: FunctionSet) -> dict[str, AbstractProcess]:
    """The pooled process and, on common inputs, the shrunk sample covariance.

    Args:
        function_set: A set of real-valued functions.

    Returns:
        Processes in the units of the set, by their published names.
    """
    options, models = function_set.options, function_set.published
    variables = name_variables(options["inputs"], options["outputs"], "real")
    found, shrunk = published_fit(function_set), models.get("linear_gaussian_gp")
    mean = FeatureMean if shrunk is None else TableMean
    laws = {"gp": GP(found.kernel, mean.fit(found.curves), found.noise)}
    if shrunk is not None:
        laws["linear_gaussian_gp"] = _shrunk(found, float(shrunk["shrinkage"]))
    return {name: ProcessModel(law, found.units, variables) for name, law in laws.items()}


def published_fit(function_set: FunctionSet) -> PublishedFit:
    """Read the parameters of the pooled process."""
    options, model = function_set.options, function_set.published["gp"]
    table = function_set.training_table
    inputs, outputs = list(options["inputs"]), list(options["outputs"])
    by_name = dict(list(table.groupby(FUNCTION, sort=False)))
    raw = [
        Curve(by_name[name][inputs].to_numpy(), by_name[name][outputs].to_numpy())
        for name in function_set.train
    ]
    draws = fit_draws(function_set.name)
    order = draws.permutation(len(raw))
    units = _units(model["choice"], raw, draws)
    curves = [Curve(x, np.asarray(units.forward_y(y))) for x, y in raw]
    held_out = max(3, min(25, round(0.2 * len(raw))))
    kernel, noise = stored_kernel(model, options, [curves[row] for row in order[held_out:]])
    return PublishedFit(units, kernel, noise, curves)


def fit_draws(name: str) -> np.random.Generator:
    """The random draws by which the baselines of a set were fitted, from their beginning."""
    return np.random.default_rng([*SEED, zlib.crc32(name.encode())])


def _units(choice: str, curves: list[Curve], draws: np.random.Generator) -> Normaliser:
    """Zero mean and unit variance after the transform that the choice names."""
    y = np.concatenate([curve.y for curve in curves])
    shift = 1.0 if np.nanmin(y) <= 0 else 0.0
    transform = ()
    if choice.endswith("log"):
        transform = (LogTransform(shift),)
    elif "boxcox" in choice:
        transform = (BoxCox(_exponent(y + shift, curves, draws), shift),)
    z = np.asarray(Normaliser(transform=transform).forward_y(y))
    mean, std = np.nanmean(z, axis=0), np.nanstd(z, axis=0)
    return Normaliser(0.0, 1.0, mean, std, transform=transform)


def _exponent(y: np.ndarray, curves: list[Curve], draws: np.random.Generator) -> float:
    """The exponent of a Box-Cox transform, of which the choice keeps two digits only."""
    from scipy.stats import boxcox_normmax

    if len({len(curve.x) for curve in curves}) == 1:  # common rows were drawn before
        draws.permutation(len(curves[0].x))
    values = y[np.isfinite(y)]
    return float(boxcox_normmax(values[draws.permutation(values.size)[:4000]], method="mle"))


def stored_kernel(model: dict[str, Any], options: dict[str, Any], curves: list[Curve]):
    """Intercept and one or two stationary parts, coregionalised, and the noise per output."""
    names, theta = model["choice"].split(",")[0].split("+"), np.asarray(model["theta"])
    d, p = len(options["inputs"]), len(options["outputs"])
    groups = [list(range(d))] if d < 3 else [[0, 1], [2]]
    width = 1 if p == 1 or p > 2 else 3
    lengths = np.exp(theta[: len(names) * len(groups)]).reshape(len(names), len(groups))
    rest = theta[lengths.size :]
    blocks = [rest[i * width : (i + 1) * width] for i in range(len(names) + 1)]
    noise = np.exp(2 * rest[(len(names) + 1) * width :]) + NOISE_FLOOR
    within, between = _output_covariances(curves) if p > 2 else (None, None)
    period = options.get("periodic", {}).get(options["inputs"][0])
    parts = []
    for name, length, block in zip(names, lengths, blocks, strict=False):
        scales = tuple(float(length[g]) for g, group in enumerate(groups) for _ in group)
        part = KERNELS[name](scales[0] if len(groups) == 1 else scales)
        part = part if period is None else kernels.PeriodicInputs(part, (period,))
        parts.append(kernels.Coregionalised(part, _covariance(block, within)))
    intercept = kernels.Coregionalised(kernels.Bias(), _covariance(blocks[-1], between))
    total = intercept
    for part in parts:
        total = total + part
    return total, tuple(map(float, np.broadcast_to(noise, (p,))))


def _covariance(block: np.ndarray, base: np.ndarray | None) -> tuple[tuple[float, ...], ...]:
    """Covariance of the outputs: free for one or two, a multiple of `base` for more."""
    if base is not None:
        matrix = np.exp(2 * block[0]) * base
    elif len(block) == 1:
        matrix = np.exp(2 * block)[:, None]
    else:
        a, b, r = np.exp(block[0]), np.exp(block[1]), np.tanh(block[2])
        matrix = np.array([[a * a, a * b * r], [a * b * r, b * b]])
    return tuple(tuple(map(float, row)) for row in matrix)


def _output_covariances(curves: list[Curve]) -> tuple[np.ndarray, np.ndarray]:
    """Covariance of the outputs within functions and between the means of functions."""
    mean = FeatureMean.fit(curves)
    residuals = [y - np.asarray(mean(x)) for x, y in curves]
    means = np.array([np.nanmean(values, axis=0) for values in residuals])
    within = np.concatenate([v - m for v, m in zip(residuals, means, strict=True)])
    jitter = OUTPUT_JITTER * np.eye(means.shape[1])
    return np.cov(within.T) + jitter, np.cov(means.T) + jitter


def _shrunk(found: PublishedFit, weight: float) -> GP:
    """Sample covariance on the common inputs, shrunk towards that of the pooled process."""
    x, values = common_table(found.curves)
    mean = table_means(values)
    total = kernels.ShrunkCovariance.fit(
        found.kernel, x, _sample_covariance(found, x, values, mean), weight, found.noise
    )
    noise = tuple(weight * variance for variance in found.noise)
    return GP(total, TableMean(x, mean), noise)


def _sample_covariance(found: PublishedFit, x, values, mean) -> np.ndarray:
    """Gaps filled by the pooled process's conditional law, whose covariance is added."""
    with jax.enable_x64(True):
        prior = np.asarray(found.kernel.gram(jnp.asarray(x)).dense())
    prior = prior + np.diag(np.tile(found.noise, len(x)))
    residuals = (values - mean).reshape(len(values), -1)
    missing = ~np.isfinite(residuals)
    residuals[missing] = 0.0
    added = np.zeros_like(prior)
    for row in np.flatnonzero(missing.any(axis=1)):
        gone, there = missing[row], ~missing[row]
        gain = np.linalg.solve(prior[np.ix_(there, there)], prior[np.ix_(there, gone)])
        residuals[row, gone] = gain.T @ residuals[row, there]
        added[np.ix_(gone, gone)] += prior[np.ix_(gone, gone)] - prior[np.ix_(gone, there)] @ gain
    return (residuals.T @ residuals + added) / (len(residuals) - 1)
