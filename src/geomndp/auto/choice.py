"""The choice between candidates: the best law by held-out likelihood; simple ones win ties."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from geomndp.auto.held_out import HeldOut
from geomndp.auto.mixture_weights import (
    WeightedCandidates,
    best_mixture,
    cross_validated,
    paired_difference,
)
from geomndp.auto.report import CandidateResult
from geomndp.auto.validation import ValidationTasks

TIE_ERRORS = 2.0
"""Paired standard errors within which a simple law wins: few functions decide, and they also chose
the step at which a network was stopped."""


class Choice(NamedTuple):
    """What was chosen, and by which tasks.

    Attributes:
        law: The chosen candidate or mixture.
        tasks: Tasks that all candidates have in common.
        rows: Their indices among all tasks.
        tie: Whether a simple law was chosen though another was better, within two standard errors.
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
        The choice: the best mixture, or the best simple one where it is at most two paired
        standard errors behind.
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
    if gain <= TIE_ERRORS * error:
        return Choice(reference, common, rows, gain > 0)
    return Choice(best, common, rows, False)


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
