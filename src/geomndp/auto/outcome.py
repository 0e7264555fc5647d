"""What comes out of a selection: calibration, report, and the law as one model."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import jax.random as jr
import numpy as np

from geomndp.auto.choice import Choice, results
from geomndp.auto.held_out_pit import held_out_pit, mixture_pit
from geomndp.auto.network_stage import TrainedNetwork
from geomndp.auto.plan import TrainingPlan
from geomndp.auto.recalibration import GAUSSIAN
from geomndp.auto.report import SelectionReport, coverage_by_kind, pit_histogram
from geomndp.auto.validation import ValidationTasks
from geomndp.evaluate import Conformal
from geomndp.evaluate.conformal import from_transforms
from geomndp.model import MixtureProcess
from geomndp.model.base import AbstractModel

if TYPE_CHECKING:
    from geomndp.auto.selection import Selection

FEW_HELD_OUT = 5
"""Fewer held-out functions than this are said to be few."""
FEW_VALUES = 50
"""Fewer values of an output are: with 25 of them 90% intervals covered 77%, with 80 of them 89%."""


class HeldOutTransforms(NamedTuple):
    """Probability integral transforms of held-out values under the chosen law.

    Attributes:
        values: Transforms (tasks, values), NaN for padding.
        tasks: The tasks.
    """

    values: np.ndarray
    tasks: ValidationTasks


def held_out_transforms(selection: Selection, choice: Choice) -> HeldOutTransforms:
    """Transforms under the chosen law, whose scales and weights were chosen on other functions.

    Args:
        selection: The selection.
        choice: Its choice.

    Returns:
        Transforms; of some functions only where they are ranks among samples of a network.
    """
    tasks, rows, law = selection.tasks, choice.rows, choice.law
    if any(name in selection.learnt.networks for name in law.names):
        few = choice.tasks.spread(selection.learnt.num_sampled)
        rows = rows[np.isin(tasks.function[rows], few.function)]
    position = np.searchsorted(choice.rows, rows)
    members, pits = [], []
    with selection.clock.part("calibration"):
        for name in law.names:
            network = selection.learnt.networks.get(name)
            if network is None:
                calibrated = selection.gaussians.laws[name]
                members.append(calibrated.held_out.take(rows))
                pits.append(calibrated.pit[rows])
            else:
                members.append(network.measured_on(rows))
                pits.append(_sampled(selection, network, rows))
    pit = mixture_pit(law.weights_by_task[position], members, pits)
    return HeldOutTransforms(pit, tasks.take(rows))


def _sampled(selection: Selection, network: TrainedNetwork, rows: np.ndarray) -> np.ndarray:
    """Transforms of the tasks `rows` under a network, each trained on the fold of its tasks."""
    tasks, key = selection.tasks, jr.fold_in(selection.key, 5)
    found = np.full((len(rows), tasks.y[0, tasks.num_context :].size), np.nan)
    for model, split in zip(network.models, selection.splits, strict=False):
        own = np.flatnonzero(np.isin(tasks.function[rows], split.held_out))
        if len(own):
            pit = held_out_pit(model, network.candidate.units, tasks.take(rows[own]), key=key)
            found[own] = pit.reshape(len(own), -1)
    return found


def describe(
    selection: Selection, choice: Choice, transforms: HeldOutTransforms
) -> SelectionReport:
    """Put everything together for people.

    Args:
        selection: The selection.
        choice: Its choice.
        transforms: Transforms of held-out values.

    Returns:
        The report.
    """
    gaussians = selection.gaussians
    measured = {name: held.take(choice.rows) for name, held in gaussians.held_out.items()}
    notes = gaussians.notes()
    for name, network in selection.learnt.networks.items():
        measured[name] = network.measured_on(choice.rows)
        notes[name] = f"stopped at step {network.best_step} of {network.schedule.steps}"
    weights = np.exp(choice.law.log_weights).tolist()
    clock = selection.clock
    clock.save()
    coverage, errors = coverage_by_kind(*transforms)
    return SelectionReport(
        results(measured, notes, choice.law, choice.tasks),
        tuple(zip(choice.law.names, weights, strict=True)),
        float(choice.tasks.by_function(choice.law.per_value).mean()),
        coverage,
        pit_histogram(transforms.values),
        len(np.unique(choice.tasks.function)),
        selection.seed,
        tuple(_in_table(selection.plan, split.held_out) for split in selection.splits),
        dict(clock.parts) | {"all": clock.elapsed()},
        _remarks(selection, choice),
        errors,
        _conformal(selection, transforms),
    )


def _in_table(plan: TrainingPlan, rows: np.ndarray) -> tuple[int, ...]:
    """Positions of functions of a plan in the order of the table's labels."""
    positions = rows if plan.order is None else np.asarray(plan.order)[rows]
    return tuple(sorted(positions.tolist()))


def _conformal(selection: Selection, transforms: HeldOutTransforms) -> Conformal | None:
    """Corrected levels of intervals; tracks have none."""
    if selection.plan.maps is not None:
        return None
    tasks = transforms.tasks
    return from_transforms(transforms.values, tasks.group.tolist(), tasks.kind.tolist())


def _remarks(selection: Selection, choice: Choice) -> tuple[str, ...]:
    """Sentences of a report beside its numbers."""
    assert selection.plan.functions is not None
    laws, held_out = selection.gaussians.laws, len(np.unique(choice.tasks.function))
    remarks = of_few(selection.plan.functions.mask, held_out)
    if not selection.learnt.networks:
        remarks.append("no network was compared: none could be trained in the time that was left")
    if choice.tie:
        remarks.append(
            "a learnt law was better by what chance explains, so many were compared: a tie"
        )
    simple = [laws[name] for name in choice.law.names if name in laws]
    if any(law.scale != GAUSSIAN for law in simple):
        remarks.append(
            "recalibrated by a scale of the variances with the best held-out likelihood; what is "
            "said of a held-out function is under the scale that the others chose"
        )
    if selection.plan.maps is not None:
        maps = "local maps" if selection.plan.maps.frame.needs_context else "one map"
        remarks.append(f"tracks in {maps}: nats are those per km to the east or to the north")
    return tuple(remarks)


def of_few(mask: np.ndarray, held_out: int) -> list[str]:
    """Sentences on what few data leave open.

    Args:
        mask: Mask of all functions.
        held_out: Number of held-out functions.

    Returns:
        Sentences, none for many data.
    """
    remarks, values = [], int(mask.sum(axis=(0, 1)).min())
    if held_out < FEW_HELD_OUT:
        noun = "one held-out function" if held_out == 1 else f"{held_out} held-out functions"
        remarks.append(f"all this rests on {noun}: take the numbers for hints, not for a verdict")
    if values < FEW_VALUES:
        remarks.append(
            f"{values} values of an output hardly tell noise from course: intervals may be far too "
            "narrow, whatever their coverage here"
        )
    return remarks


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
