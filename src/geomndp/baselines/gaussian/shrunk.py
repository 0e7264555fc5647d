"""The sample covariance of functions on common inputs, shrunk towards a pooled process."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from geomndp import _validation
from geomndp._types import Batch
from geomndp.baselines.gaussian.functions import common_inputs, curves
from geomndp.baselines.gaussian.held_out import DEGREES, Nats, choose_dof, held_out_nats, moments
from geomndp.baselines.gaussian.result import GaussianFit
from geomndp.gp import GP
from geomndp.kernels import KernelRegression, Matern32, PeriodicInputs, ShrunkCovariance

WEIGHTS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97)
"""Weights of the pooled process that are tried."""
ROUNDS = 4
"""Times that missing values are filled by the shrunk law itself."""
FILL_WEIGHT = 0.3
"""Weight of the pooled process where they are filled before the weight is chosen."""
MAX_HELD_OUT = 30
"""Functions of a fold whose log-density is evaluated."""
MAX_WORK = 2e8
"""Cubed number of values on common inputs, times functions with gaps, for this in every fold."""


class _Table(NamedTuple):
    """Common inputs, values (functions, m p) with NaN, and the pooled law there."""

    x: np.ndarray
    values: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray


class _Choice(NamedTuple):
    """Weight and degrees of freedom, with their held-out nats per value."""

    weight: float
    dof: float | None
    nats: float


class _Filled(NamedTuple):
    """Values without gaps, (functions, q), and the sums of their covariances by fold, (k, q, q)."""

    values: np.ndarray
    doubt: np.ndarray


def fit_shrunk_gaussian(
    functions: Batch,
    fit: GaussianFit,
    *,
    train=None,
    folds: int = 5,
    groups: Sequence[str] | None = None,
    ordered: bool = False,
    seed: int = 0,
) -> GaussianFit:
    r"""Shrink the sample covariance of functions on common inputs towards a pooled process.

    On the common inputs the covariance is $(1 - a) S + a K$ and the mean is that of the functions;
    elsewhere both follow from the pooled process (`kernels.ShrunkCovariance`). Missing values are
    filled by their conditional law, whose covariance is added to S. The weight a, and the degrees
    of freedom of a random scale per function (`dof`, see `scale_mixture`), have the largest
    log-density of held-out functions, in K folds: of values given 3 and 10 others drawn at random,
    and for one input given the first two fifths.

    Args:
        functions: Functions as for `fit_gp`.
        fit: The pooled process.
        train: Indices of the functions to fit; by default all.
        folds: Number of folds.
        groups: One label per function of all; functions of one label stay in one fold.
        ordered: Whether functions stand in the order of time: folds are then stretches of it.
        seed: Seed of the folds and of the held-out values.

    Returns:
        The process; None with the reason in `note` where the functions share no inputs.

    Raises:
        ValueError: If the pooled process is missing or there are fewer than two folds.
    """
    began = time.monotonic()
    _validation.at_least(2, folds=folds)
    prior = fit.process
    if not isinstance(prior, GP):
        raise ValueError(f"expected the fit of a Gaussian process, got {type(prior).__name__}")
    held = curves(functions, train)
    inputs = common_inputs(held)
    if isinstance(inputs, str) or len(held) < folds:
        reason = inputs if isinstance(inputs, str) else f"{len(held)} functions for {folds} folds"
        return GaussianFit(None, "shrunk covariance", -np.inf, note=reason)
    table = _table(inputs.x, inputs.values, prior)
    fold = _folds(_labels(functions, train, groups), folds, None if ordered else seed)
    chosen, tried = _choose(table, fold, inputs.values.shape[2], seed)
    process = _process(table, prior, chosen, inputs.values.shape[2])
    name = f"shrunk covariance, weight of the process {chosen.weight:g}"
    seconds = time.monotonic() - began
    return GaussianFit(process, name, chosen.nats, tried, seconds, dof=chosen.dof)


def _labels(functions: Batch, train: Any, groups: Sequence[str] | None) -> np.ndarray:
    """Group of every function with a value, shape (functions,); its number if all are in one."""
    rows = np.arange(len(functions.x)) if train is None else np.asarray(train)
    rows = np.array([row for row in rows if np.any(np.asarray(functions.mask[row]) > 0)])
    labels = rows if groups is None else np.asarray(groups)[rows]
    return labels if len(np.unique(labels)) > 1 else rows


def _folds(labels: np.ndarray, folds: int, seed: int | None) -> np.ndarray:
    """Fold of every function, those of one label in the same; stretches without a seed."""
    _, first, group = np.unique(labels, return_index=True, return_inverse=True)
    fold = np.arange(len(first)) * min(folds, len(first)) // len(first)
    if seed is not None:
        fold = np.random.default_rng(seed).permutation(fold)
    return fold[np.argsort(np.argsort(first))][group.reshape(-1)]


def _table(x: np.ndarray, values: np.ndarray, prior: GP) -> _Table:
    return _Table(x, values.reshape(len(values), -1), *moments(prior, x))


def _fill(table: _Table, mean: np.ndarray, covariance: np.ndarray, fold: np.ndarray) -> _Filled:
    """Conditional means of missing values given those present, and their covariances."""
    values = table.values.copy()
    doubt = np.zeros((fold.max() + 1, *covariance.shape))
    for row, held in enumerate(table.values):
        gone = np.flatnonzero(np.isnan(held))
        if len(gone):
            seen = np.flatnonzero(np.isfinite(held))
            gain = np.linalg.solve(covariance[np.ix_(seen, seen)], covariance[np.ix_(seen, gone)])
            values[row, gone] = mean[gone] + gain.T @ (held[seen] - mean[seen])
            rest = covariance[np.ix_(gone, gone)] - covariance[np.ix_(gone, seen)] @ gain
            doubt[fold[row]][np.ix_(gone, gone)] += rest
    return _Filled(values, doubt)


def _sample_moments(filled: _Filled, fold: np.ndarray, out: int | None = None):
    """Mean and covariance of the functions, or of those outside one fold."""
    kept = filled.values if out is None else filled.values[fold != out]
    doubt = filled.doubt.sum(axis=0) - (0.0 if out is None else filled.doubt[out])
    mean = kept.mean(axis=0)
    left = kept - mean
    return mean, (left.T @ left + doubt) / max(len(kept) - 1, 1)


def _choose(
    table: _Table, fold: np.ndarray, dim: int, seed: int
) -> tuple[_Choice, tuple[tuple[str, float], ...]]:
    """Weight and degrees of freedom with the largest held-out log-density."""
    found: dict[float, list[Nats]] = {weight: [] for weight in WEIGHTS}
    filled = _fill(table, table.mean, table.covariance, fold)
    for out in range(fold.max() + 1):
        mean, sample = _fold_moments(table, filled, fold, out)
        for weight in WEIGHTS:
            law = (mean, (1 - weight) * sample + weight * table.covariance)
            rng = np.random.default_rng([seed, out])
            for values in table.values[fold == out][:MAX_HELD_OUT]:
                found[weight].append(held_out_nats(table.x, values.reshape(-1, dim), law, rng=rng))
    nats = {
        (weight, dof): np.asarray([one[dof] for one in parts])
        for weight, parts in found.items()
        for dof in DEGREES
    }
    best = {dof: max(WEIGHTS, key=lambda w, dof=dof: nats[w, dof].mean()) for dof in DEGREES}
    dof = choose_dof({dof: nats[best[dof], dof] for dof in DEGREES})
    tried = tuple((f"weight {weight:g}", float(nats[weight, dof].mean())) for weight in WEIGHTS)
    return _Choice(best[dof], dof, float(nats[best[dof], dof].mean())), tried


def _fold_moments(table: _Table, filled: _Filled, fold: np.ndarray, out: int):
    """Moments of the functions outside a fold; their own law fills gaps if that is quick."""
    mean, sample = _sample_moments(filled, fold, out)
    gappy = np.isnan(table.values).any(axis=1).sum()
    if gappy * len(mean) ** 3 > MAX_WORK:
        return mean, sample
    kept = table._replace(values=table.values[fold != out])
    for _ in range(ROUNDS if gappy else 0):
        covariance = (1 - FILL_WEIGHT) * sample + FILL_WEIGHT * table.covariance
        again = _fill(kept, mean, covariance, np.zeros(len(kept.values), int))
        mean, sample = _sample_moments(again, fold)
    return mean, sample


def _process(table: _Table, prior: GP, chosen: _Choice, dim: int) -> GP:
    fold = np.zeros(len(table.values), int)
    mean, covariance = table.mean, table.covariance
    sample = covariance
    for _ in range(ROUNDS if np.isnan(table.values).any() else 1):
        filled = _fill(table, mean, covariance, fold)
        mean, sample = _sample_moments(filled, fold)
        covariance = (1 - chosen.weight) * sample + chosen.weight * table.covariance
    noise = np.broadcast_to(np.asarray(prior.noise, np.float64), (dim,))
    kernel = ShrunkCovariance.fit(prior.kernel, table.x, sample, chosen.weight, noise)
    variances = tuple(float(chosen.weight * value) for value in noise)
    smooth = _interpolate(table.x, mean.reshape(-1, dim), prior)
    return GP(kernel, smooth, variances if dim > 1 else variances[0])


def _interpolate(x: np.ndarray, mean: np.ndarray, prior: GP) -> KernelRegression:
    """The table's mean there, and between its inputs what the pooled mean's kernel makes of it."""
    kernel = prior.mean.kernel if isinstance(prior.mean, KernelRegression) else None
    if not isinstance(kernel, Matern32 | PeriodicInputs):
        kernel = Matern32(tuple(float(v) for v in 0.25 * np.maximum(np.ptp(x, axis=0), 1e-9)))
    return KernelRegression.fit(kernel, x, mean)
