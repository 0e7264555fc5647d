"""A Gaussian process with one kernel for all functions, by their pooled marginal likelihood."""

from __future__ import annotations

import time

import numpy as np

from geomndp import _validation
from geomndp._types import Batch
from geomndp.baselines.gaussian.centred import Centred, FitSettings, centre
from geomndp.baselines.gaussian.designs import Groups
from geomndp.baselines.gaussian.functions import curves
from geomndp.baselines.gaussian.held_out import process_dof
from geomndp.baselines.gaussian.hyperparameters import (
    KernelSum,
    Search,
    maximise,
    noise_variances,
    to_kernel,
)
from geomndp.baselines.gaussian.likelihood import Hyperparameters, pooled_nats
from geomndp.baselines.gaussian.mean import Period
from geomndp.baselines.gaussian.result import Candidate, GaussianFit
from geomndp.gp import GP
from geomndp.kernels import Coregionalised, Modulated, White

CANDIDATES = (
    Candidate("SE+M32"),
    Candidate("SE+M32", amplitude="signal"),
    Candidate("M52+M12", amplitude="signal"),
    Candidate("SE+M32", amplitude="varying"),
    Candidate("M52+M12"),
    Candidate("SE+M32", "constant"),
    Candidate("M52+M12", amplitude="varying"),
)
"""Forms that are tried, in this order."""
WORK = 5e7
"""Cubed numbers of values, summed over the functions of a fit."""


def fit_gp(
    functions: Batch,
    *,
    train=None,
    validation=None,
    period: Period = None,
    groups: Groups | None = None,
    candidates: tuple[Candidate, ...] = CANDIDATES,
    max_values: int = 96,
    max_iterations: int = 40,
    seconds: float | None = None,
    seed: int = 0,
) -> GaussianFit:
    """Fit a Gaussian process to many functions, and choose its form.

    All functions have the same kernel, mean and noise: a sum of one or two stationary kernels and a
    constant, each with its own covariance of the outputs. A sum starts from the fit of its first
    kernel alone. The form is that of the largest log-density of the held-out functions. At most
    `max_values` values of a function (twice as many where all functions have the same inputs, which
    share one factorisation) and 256 functions are used, drawn at random.

    Args:
        functions: Functions x (b, n, d), y (b, n, p) in the units of a model, with a mask (b, n),
            or (b, n, p) where outputs are missing apart.
        train: Indices of the functions to fit; by default all that are not held out.
        validation: Indices of the held-out functions; by default none are, and the form is chosen
            by the likelihood of the functions themselves, less one nat per parameter.
        period: Period of every input, None for one that is not periodic; None where none is.
        groups: Columns of the inputs with one lengthscale each; by default one for all.
        candidates: Forms to try, in this order.
        max_values: Most values of one function.
        max_iterations: Most iterations for each form.
        seconds: Time after which no further form is tried.
        seed: Seed of the random subsets.

    Returns:
        The process, in the units of the functions.

    Raises:
        ValueError: If there are no functions, or an argument is wrong.

    Example:
        `gn.baselines.fit_gp(batch, validation=range(80, 100)).process.condition(xc, yc)`
    """
    began = time.monotonic()
    _validation.at_least(1, max_values=max_values, max_iterations=max_iterations)
    if not candidates:
        raise ValueError("expected at least one candidate, got none")
    held = [] if validation is None else [int(row) for row in validation]
    if train is None:
        train = sorted(set(range(len(functions.x))) - set(held))
    fitted, out = curves(functions, train), curves(functions, held) if held else None
    every = (tuple(range(fitted[0].x.shape[1])),)
    settings = FitSettings(groups or every, period, max_values, seed, WORK)
    data: dict[tuple[str, str], Centred] = {}
    singles: dict[tuple[str, str, str], Hyperparameters] = {}
    tried: list[tuple[float, Candidate, Search]] = []
    for candidate in candidates:
        if tried and seconds is not None and time.monotonic() - began > seconds:
            break
        key = (candidate.mean, candidate.amplitude)
        if key not in data:
            data[key] = centre(fitted, out, candidate, settings)
        tried.append(_try(candidate, data[key], singles, max_iterations))
    best = max(tried, key=lambda entry: entry[0])
    nats, candidate, search = best
    process = _process(candidate, search.parameters, data[candidate[1:]], settings)
    names = tuple((str(entry[1]), entry[0]) for entry in tried)
    dof = None if out is None else process_dof(process, out, seed=seed)
    state, spent = (candidate, search.parameters, settings), time.monotonic() - began
    return GaussianFit(process, str(candidate), nats, names, spent, state=state, dof=dof)


def refit(fit: GaussianFit, functions: Batch, *, train=None, iterations: int = 40) -> GaussianFit:
    """Fit a process of a chosen form to other functions, such as all of them.

    Args:
        fit: Result of `fit_gp`, whose parameters are the start.
        functions: Functions in the same units.
        train: Indices of the functions to fit; by default all.
        iterations: Most iterations.

    Returns:
        The process; `nats` stay those of the held-out functions.
    """
    began = time.monotonic()
    candidate, parameters, settings = fit.state
    settings = settings._replace(work=3 * WORK)
    centred = centre(curves(functions, train), None, candidate, settings)
    kernel = KernelSum.parse(candidate.kernel)
    search = maximise(parameters, kernel, centred.train, iterations=iterations)
    process = _process(candidate, search.parameters, centred, settings)
    seconds = fit.seconds + time.monotonic() - began
    state = (candidate, search.parameters, settings)
    return fit._replace(process=process, seconds=seconds, state=state)


def _try(
    candidate: Candidate,
    data: Centred,
    singles: dict[tuple[str, str, str], Hyperparameters],
    iterations: int,
) -> tuple[float, Candidate, Search]:
    """Fit one form; its nats per value come first.

    A sum that starts far from the functions' scale loses its first kernel to an ever longer
    lengthscale while the rough one fits everything: the first kernel alone finds the scale. These
    fits are kept in `singles`.
    """
    kernel, first = KernelSum.parse(candidate.kernel), data.first
    if len(kernel.numbers) == 2:
        single = candidate.kernel.split("+")[0], candidate.mean, candidate.amplitude
        if single not in singles:
            alone = KernelSum.parse(single[0])
            singles[single] = maximise(first, alone, data.train, iterations=iterations).parameters
        first = singles[single]
    search = maximise(first, kernel, data.train, iterations=iterations)
    if data.validation is None:
        number = sum(np.size(part) for part in search.parameters)
        nats = search.nats - number / data.train.num_values
    else:
        nats, _ = pooled_nats(search.parameters, kernel.kinds, kernel.active, data.validation)
    return (nats if np.isfinite(nats) else -np.inf) - data.log_unit, candidate, search


def _process(
    candidate: Candidate, parameters: Hyperparameters, data: Centred, settings: FitSettings
) -> GP:
    kernels = KernelSum.parse(candidate.kernel)
    signal = candidate.amplitude == "signal"  # the amplitude then has the unit
    arguments = (parameters, kernels, settings.groups, settings.period)
    kernel = to_kernel(*arguments, np.ones_like(data.unit) if signal else data.unit)
    noise = noise_variances(parameters, data.unit)
    constant = noise[0] if len(noise) == 1 else noise
    if data.scale is None:
        return GP(kernel, data.mean, constant)
    if signal:
        return GP(Modulated(kernel, data.scale), data.mean, constant)
    diagonal = tuple(tuple(row) for row in np.diag(noise).tolist())
    white = noise[0] * White() if len(noise) == 1 else Coregionalised(White(), diagonal)
    return GP(Modulated(kernel + white, data.scale), data.mean, 0.0)
