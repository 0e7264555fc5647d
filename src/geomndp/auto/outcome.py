"""What comes out of a selection: calibration, report, and the law as one model."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import jax.random as jr
import numpy as np

from geomndp.auto.choice import Choice, results
from geomndp.auto.held_out_pit import held_out_pit, mixture_pit
from geomndp.auto.report import SelectionReport, coverage_by_kind, pit_histogram
from geomndp.model import MixtureProcess
from geomndp.model.base import AbstractModel

if TYPE_CHECKING:
    from geomndp.auto.selection import Selection

PIT_FUNCTIONS = 16
"""Held-out functions whose transforms are taken from samples of a network."""


def transforms(selection: Selection, choice: Choice) -> tuple[np.ndarray, np.ndarray]:
    """Probability integral transforms of held-out values under the chosen law.

    Args:
        selection: The selection.
        choice: Its choice.

    Returns:
        Transforms (tasks, values), NaN for padding, and the kind of each task.
    """
    begin = time.monotonic()
    tasks, pits, kinds = selection.tasks, [], []
    sampled = any(name in selection.networks for name in choice.law.names)
    for fold, split in enumerate(selection.splits):
        rows = choice.rows[np.isin(tasks.function[choice.rows], split.held_out)]
        if sampled and len(rows):
            few = tasks.take(rows).spread(max(1, PIT_FUNCTIONS // len(selection.splits)))
            rows = rows[np.isin(tasks.function[rows], few.function)]
        if len(rows):
            pits.append(_fold_transforms(selection, choice, fold, rows))
            kinds.append(tasks.kind[rows])
    selection.seconds["calibration"] = time.monotonic() - begin
    pit = np.concatenate(pits)
    return pit.reshape(len(pit), -1), np.concatenate(kinds)


def _fold_transforms(
    selection: Selection, choice: Choice, fold: int, rows: np.ndarray
) -> np.ndarray:
    """Transforms of the tasks `rows` under the fits of their fold."""
    tasks, key = selection.tasks.take(rows), jr.fold_in(selection.key, 5)
    log_weights, members, pits = [], [], []
    for outer, name in zip(choice.law.log_weights, choice.law.names, strict=True):
        network = selection.networks.get(name)
        if network is not None:
            log_weights.append(outer)
            members.append(network.measured_on(rows))
            pits.append(held_out_pit(network.models[fold], network.candidate.units, tasks, key=key))
            continue
        candidate = selection.gaussians.candidate(name, fold)
        for inner, factor, held in selection.gaussians.components(name, rows):
            log_weights.append(outer + inner)
            members.append(held)
            pits.append(held_out_pit(candidate.law(factor), candidate.units, tasks, key=key))
    return mixture_pit(np.asarray(log_weights), members, pits)


def describe(
    selection: Selection, choice: Choice, pit: np.ndarray, kinds: np.ndarray
) -> SelectionReport:
    """Put everything together for people.

    Args:
        selection: The selection.
        choice: Its choice.
        pit: Transforms of held-out values.
        kinds: Kinds of their tasks.

    Returns:
        The report.
    """
    gaussians = selection.gaussians
    measured = {name: held.take(choice.rows) for name, held in gaussians.held_out.items()}
    notes = gaussians.notes()
    for name, network in selection.networks.items():
        measured[name] = network.measured_on(choice.rows)
        notes[name] = f"stopped at step {network.best_step} of {network.schedule.steps}"
    weights = np.exp(choice.law.log_weights).tolist()
    remarks = []
    if choice.tie:
        remarks.append("a learnt law was better by less than one standard error: a tie")
    if any(gaussians.is_recalibrated(name) for name in choice.law.names):
        remarks.append("recalibrated by a scale of the variances with the best held-out likelihood")
    return SelectionReport(
        results(measured, notes, choice.law, choice.tasks),
        tuple(zip(choice.law.names, weights, strict=True)),
        float(choice.tasks.by_function(choice.law.per_value).mean()),
        coverage_by_kind(pit, kinds),
        pit_histogram(pit),
        len(np.unique(choice.tasks.function)),
        selection.seed,
        tuple(tuple(int(row) for row in split.held_out) for split in selection.splits),
        dict(selection.seconds) | {"all": time.monotonic() - selection.start},
        tuple(remarks),
    )


def assemble(
    members: Sequence[tuple[float, AbstractModel]], report: SelectionReport
) -> AbstractModel:
    """The chosen law as one model that says where it comes from.

    Args:
        members: Log-weights before any context, and models in the data's units.
        report: The report.

    Returns:
        The only member, or a mixture.
    """
    text = str(report)
    if len(members) == 1:
        return dataclasses.replace(members[0][1], report=text)
    log_weights, models = zip(*members, strict=True)
    return MixtureProcess(models, np.asarray(log_weights), report=text)
