"""The choice between candidates: the best law by held-out likelihood; simple ones win ties."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from geomndp.auto.held_out import HeldOut
from geomndp.auto.mixture_weights import (
    WeightedCandidates,
    best_mixture,
    cross_validated,
    paired_difference,
)
from geomndp.auto.report import CandidateResult
from geomndp.auto.validation import ValidationTasks

CHANCE = 0.05 / 20
"""Chance at which a gain counts: about twenty stops, networks and mixtures were compared on the
same functions, and the best of them is tested (Bonferroni)."""


class Choice(NamedTuple):
    """What was chosen, and by which tasks.

    Attributes:
        law: The chosen candidate or mixture.
        tasks: Tasks that all candidates have in common.
        rows: Their indices among all tasks.
        tie: Whether a simple law was chosen though another was better, by what chance explains.
    """

    law: WeightedCandidates
    tasks: ValidationTasks
    rows: np.ndarray
    tie: bool


def choose(
    simple: Mapping[str, HeldOut],
    learnt: Mapping[str, HeldOut],
    rows: np.ndarray,
    tasks: ValidationTasks,
) -> Choice:
    """Choose between mixtures of simple candidates and mixtures of all.

    Args:
        simple: Log-densities of all tasks under simple candidates.
        learnt: Log-densities of the tasks `rows` under networks.
        rows: Tasks that measured every network.
        tasks: All tasks.

    Returns:
        The choice: the best mixture, or the best simple one where chance explains the gain, by
        Student's test of the paired differences of functions.
    """
    best_simple = best_mixture(simple, tasks)
    if not learnt:
        return Choice(best_simple, tasks, np.arange(len(tasks.function)), False)
    common = tasks.take(rows)
    pool = {name: held.take(rows) for name, held in simple.items()}
    reference = cross_validated(best_simple.names, pool, common)
    reference = reference._replace(log_weights=best_simple.log_weights)  # those of all tasks
    best = best_mixture({**pool, **learnt}, common)
    if not set(best.names) & set(learnt):
        return Choice(reference, common, rows, False)
    gain, error = paired_difference(best.per_value, reference.per_value, common)
    if gain <= errors_of_chance(len(np.unique(common.function))) * error:
        return Choice(reference, common, rows, gain > 0)
    return Choice(best, common, rows, False)


def errors_of_chance(num_functions: int) -> float:
    """Paired standard errors that a gain must exceed: 2.8 for many functions, 3.8 for nine.

    Args:
        num_functions: Functions that are compared.

    Returns:
        Quantile of Student's t; infinite for one function.
    """
    return float(stdtrit(num_functions - 1, 1 - CHANCE)) if num_functions > 1 else np.inf


def results(
    candidates: Mapping[str, HeldOut],
    notes: Mapping[str, str],
    chosen: WeightedCandidates,
    tasks: ValidationTasks,
) -> tuple[CandidateResult, ...]:
    """One row per candidate, best first.

    Args:
        candidates: Log-densities of the tasks by name.
        notes: What each of them is.
        chosen: The chosen law.
        tasks: The tasks.

    Returns:
        The rows.
    """
    rows = []
    for name, held in candidates.items():
        values = held.per_value(tasks)
        mean, error = float(tasks.by_function(values).mean()), np.inf
        if np.isfinite(mean):
            error = paired_difference(values, chosen.per_value, tasks)[1]
        kinds = {str(k): float(values[tasks.kind == k].mean()) for k in dict.fromkeys(tasks.kind)}
        rows.append(CandidateResult(name, mean, error, kinds, notes.get(name, "")))
    return tuple(sorted(rows, key=lambda row: -row.nats))
