r"""Mixtures of candidates, chosen by the held-out log-density of targets given contexts.

$\log p(y \mid C) = \log \sum_k w_k p_k(C) p_k(y \mid C) - \log \sum_k w_k p_k(C)$: a mixture's
weights follow the context, so both log-densities of every member are needed, and nothing else.
Values of mixtures are cross-validated over functions: their weights never saw what evaluates them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp

from geomndp.auto.held_out import HeldOut
from geomndp.auto.validation import ValidationTasks
from geomndp.evaluate.task_metrics import over_functions

MAX_MEMBERS = 4
MIN_GAIN = 0.002
"""Nats per target value that a further member must bring."""
PRIOR_STRENGTH = 1.0
"""Pseudo-functions of equal weights, in functions: keeps every member's weight above zero."""
NUM_PARTS = 5


class WeightedCandidates(NamedTuple):
    """Members of a mixture.

    Attributes:
        names: Their names.
        log_weights: Their log-weights, fitted to all functions, shape (members,).
        per_value: Nats per target value of every task, with weights fitted to other functions.
        weights_by_task: These log-weights, shape (tasks, members).
    """

    names: tuple[str, ...]
    log_weights: np.ndarray
    per_value: np.ndarray
    weights_by_task: np.ndarray


def mixture_per_value(
    log_weights: np.ndarray, members: Sequence[HeldOut], tasks: ValidationTasks
) -> np.ndarray:
    """Nats per target value of every task under a mixture.

    Args:
        log_weights: Log of the members' weights before any context, shape (members,).
        members: Log-densities of the members.
        tasks: The tasks.

    Returns:
        Shape (tasks,); -inf where no member has a finite log-density of the context.
    """
    context = np.stack([member.context for member in members])
    joint = context + np.stack([member.targets for member in members])
    weights = log_weights[:, None]
    evidence = np.asarray(logsumexp(weights + context, axis=0))
    given = np.where(np.isfinite(evidence), evidence, np.inf)
    return (logsumexp(weights + joint, axis=0) - given) / tasks.num_values()


def fit_weights(members: Sequence[HeldOut], tasks: ValidationTasks) -> np.ndarray:
    """Log-weights with the largest mean log-density per target value, all functions alike.

    Args:
        members: Log-densities of the members.
        tasks: The tasks.

    Returns:
        Log-weights, shape (members,).
    """
    count = len(members)
    if count == 1:
        return np.zeros(1)
    num_functions = len(np.unique(tasks.function))

    def objective(free: np.ndarray) -> float:
        log_weights = log_softmax(np.append(free, 0.0))
        value = tasks.by_function(mixture_per_value(log_weights, members, tasks)).mean()
        return -value - PRIOR_STRENGTH / num_functions * log_weights.mean()

    best = minimize(
        objective, np.zeros(count - 1), method="L-BFGS-B", bounds=[(-8, 8)] * (count - 1)
    )
    return log_softmax(np.append(best.x, 0.0))


def cross_validated(
    names: tuple[str, ...], candidates: Mapping[str, HeldOut], tasks: ValidationTasks
) -> WeightedCandidates:
    """Fit a mixture's weights, and measure it with weights fitted to other functions.

    Args:
        names: Its members.
        candidates: Log-densities by name.
        tasks: The tasks.

    Returns:
        The mixture.
    """
    members = [candidates[name] for name in names]
    weights, per_value = fit_weights(members, tasks), np.empty(len(tasks.function))
    by_task = np.repeat(weights[None], len(tasks.function), axis=0)
    if len(names) == 1:
        return WeightedCandidates(names, weights, members[0].per_value(tasks), by_task)
    part = tasks.parts(NUM_PARTS)
    for number in np.unique(part):
        rest = np.flatnonzero(part == number)
        fitted = np.flatnonzero(part != number)
        own = fit_weights(_subset(members, fitted), tasks.take(fitted)) if len(fitted) else weights
        per_value[rest] = mixture_per_value(own, _subset(members, rest), tasks.take(rest))
        by_task[rest] = own
    return WeightedCandidates(names, weights, per_value, by_task)


def _subset(members: Sequence[HeldOut], rows: np.ndarray) -> list[HeldOut]:
    return [member.take(rows) for member in members]


def best_mixture(candidates: Mapping[str, HeldOut], tasks: ValidationTasks) -> WeightedCandidates:
    """Add members to the best candidate as long as each brings more than it costs.

    Args:
        candidates: Log-densities by name.
        tasks: The tasks.

    Returns:
        A mixture of at most `MAX_MEMBERS` members, one member alone where no other helps.
    """
    singles = [cross_validated((name,), candidates, tasks) for name in candidates]
    best = max(singles, key=lambda mixture: _mean(mixture, tasks))
    while len(best.names) < min(MAX_MEMBERS, len(candidates)):
        others = [name for name in candidates if name not in best.names]
        larger = [cross_validated((*best.names, name), candidates, tasks) for name in others]
        next_best = max(larger, key=lambda mixture: _mean(mixture, tasks))
        if not _mean(next_best, tasks) > _mean(best, tasks) + MIN_GAIN:
            return best
        best = next_best
    return best


def _mean(mixture: WeightedCandidates, tasks: ValidationTasks) -> float:
    return float(tasks.by_function(mixture.per_value).mean())


def paired_difference(
    first: np.ndarray, second: np.ndarray, tasks: ValidationTasks
) -> tuple[float, float]:
    """Mean of first - second over functions, and its standard error.

    The larger of the errors over functions and over groups of them: few groups may agree by chance.

    Args:
        first: Nats per target value of every task.
        second: Those of another candidate.
        tasks: The tasks.

    Returns:
        Difference and standard error; infinite for a single function.
    """
    differences = tasks.by_function(first) - tasks.by_function(second)
    functions, row = np.unique(tasks.function, return_index=True)
    errors = [over_functions(differences, units)[1] for units in (functions, tasks.group[row])]
    known = [error for error in errors if error is not None]
    return float(differences.mean()), max(known, default=np.inf)
