r"""Random scales and noise of Gaussian laws, their weights free: what held-out functions ask for.

A component multiplies a law with further noise by a factor, $c\,(K + (1 + e) \sigma^2)$. The
weights of a grid of (c, e) have the largest mean conditional log-density of held-out functions, a
maximum likelihood estimate of a mixing law (Laird 1978) with a prior of pseudo-functions:
$\sum_i \frac{1}{n_i} [\log \sum_k w_k p_k(y_i, C_i) - \log \sum_k w_k p_k(C_i)]
+ \frac{m}{\bar n} \sum_k w^0_k \log w_k$.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp

from geomndp.auto.gaussian_measure import GaussianMeasure
from geomndp.auto.held_out import HeldOut
from geomndp.auto.recalibration import (
    NOISES,
    NUM_PARTS,
    CalibratedLaw,
    Component,
    FreeScale,
    mixed_components,
    mixed_components_pit,
)
from geomndp.auto.validation import ValidationTasks

FACTORS = (0.35, 0.5, 0.71, 1.0, 1.41, 2.0, 2.8, 4.0)
"""Factors of all variances."""
NOISE_PRIOR = (0.7, 0.15, 0.15)
"""Weights of the amounts of further noise under the prior."""
FACTOR_SPREAD = 0.6
"""Standard deviation of the factor's logarithm under the prior."""
PRIOR_STRENGTH = 10.0
"""Pseudo-functions that are spread as the prior says."""
MIN_GAIN = 0.002
"""Nats per target value that free weights must bring."""
MAX_COVERAGE_ERROR = 0.05
"""Error of the coverage of 90% intervals that few held-out functions do not tell from none."""
MAX_LOST_COVERAGE = 0.01
"""What the worst kind of tasks may lose in coverage: a likelihood that is won on the short scales
of dense points, by a factor that the long scales do not share, is not worth wrong intervals."""
MAX_PARTS = 7
"""Components of a mixture: each is a law of its own to condition."""


def free_scales(
    laws: Sequence[GaussianMeasure], tasks: ValidationTasks, known: CalibratedLaw
) -> CalibratedLaw:
    """Weigh scales and noise freely, where that brings more than a scale of known form.

    Args:
        laws: The law on all tasks, with every amount of further noise, those of `NOISES` or the
            first of them.
        tasks: The tasks.
        known: The law with the random scale that was chosen before.

    Returns:
        The law with free weights if these, fitted to other functions, bring more to held-out ones
        and their intervals cover no worse; else `known`.
    """
    part = tasks.parts(NUM_PARTS)
    targets, context = (np.full(len(part), -np.inf) for _ in range(2))
    pit = np.empty(laws[0].residuals.shape)
    for number in np.unique(part):
        own, others = np.flatnonzero(part == number), np.flatnonzero(part != number)
        if not len(others):
            return known
        scale = fit_scales([law.take(others) for law in laws], tasks.take(others))
        rest = [law.take(own) for law in laws]
        targets[own], context[own] = mixed_components(rest, scale)
        pit[own] = mixed_components_pit(rest, scale)
    held = HeldOut(targets, context)
    own, former = (
        tasks.by_function(each.per_value(tasks)).mean() for each in (held, known.held_out)
    )
    if not own > former + MIN_GAIN:
        return known
    allowed = _worst_coverage(known.pit, tasks) + MAX_LOST_COVERAGE
    if _worst_coverage(pit, tasks) > max(allowed, MAX_COVERAGE_ERROR):
        return known
    return CalibratedLaw(fit_scales(laws, tasks), held, pit)


def _worst_coverage(pit: np.ndarray, tasks: ValidationTasks) -> float:
    """Largest error of the coverage of 90% intervals among the kinds of tasks."""
    errors = []
    for kind in np.unique(tasks.kind):
        values = pit[tasks.kind == kind]
        values = values[np.isfinite(values)]
        if len(values):
            errors.append(abs(float(np.mean(np.abs(values - 0.5) < 0.45)) - 0.9))
    return max(errors, default=0.0)


def fit_scales(laws: Sequence[GaussianMeasure], tasks: ValidationTasks) -> FreeScale:
    """Weights of the grid with the largest mean conditional log-density of the tasks.

    Args:
        laws: The law on all tasks, with every amount of further noise.
        tasks: The tasks.

    Returns:
        The components of most weight, with the weights that suit these alone.
    """
    grid = [(NOISES[index], factor) for index in range(len(laws)) for factor in FACTORS]
    held = [law.at(factor) for law in laws for factor in FACTORS]
    prior = _prior(len(laws))
    weights = _fit_weights(held, prior, tasks)
    kept = np.sort(np.argsort(-weights)[:MAX_PARTS])
    logs = np.log(_fit_weights([held[row] for row in kept], prior[kept], tasks))
    return FreeScale(
        tuple(
            Component(float(log), grid[row][1], grid[row][0])
            for log, row in zip(logs, kept, strict=True)
        )
    )


def _fit_weights(held: Sequence[HeldOut], prior: np.ndarray, tasks: ValidationTasks) -> np.ndarray:
    """Weights of laws, shape (laws,), from their log-densities of the tasks and a prior."""
    prior = prior / prior.sum()
    context = np.maximum(np.stack([one.context for one in held]), -1e10)
    joint = context + np.maximum(np.stack([one.targets for one in held]), -1e10)
    values, count = tasks.num_values(), len(np.unique(tasks.function))
    share = tasks.weights()[1] / (values * count)
    strength = PRIOR_STRENGTH / (count * np.median(values))

    def loss(free):
        logs = log_softmax(free)
        both, given = logs[:, None] + joint, logs[:, None] + context
        high, low = (np.asarray(logsumexp(part, axis=0)) for part in (both, given))
        weights = np.exp(logs)
        slope = (np.exp(both - high) - np.exp(given - low)) @ share
        value = share @ (high - low) + strength * prior @ logs
        slope = slope - weights * slope.sum() + strength * (prior - weights)
        return -value, -slope

    bounds = [(-20.0, 5.0)] * len(held)
    found = minimize(loss, np.log(prior), jac=True, method="L-BFGS-B", bounds=bounds)
    return np.exp(log_softmax(found.x))


def _prior(number: int) -> np.ndarray:
    """Weights of the grid: most of them near the law as it is."""
    factors = np.exp(-0.5 * (np.log(FACTORS) / FACTOR_SPREAD) ** 2)
    weights = np.outer(NOISE_PRIOR[:number], factors).reshape(-1)
    return weights / weights.sum()
