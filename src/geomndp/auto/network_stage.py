"""Train networks within their budgets: fold by fold, stopped in time, refitted on all functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp._types import PRNGKeyArray
from geomndp.auto.budget import NetworkSchedule
from geomndp.auto.cosine_adam import restarted
from geomndp.auto.early_stopping import (
    CHUNK,
    EARLY_STOPS,
    Deadline,
    ValidatedRun,
    train_validated,
)
from geomndp.auto.held_out import HeldOut
from geomndp.auto.network_candidates import NetworkCandidate, NetworkValidation
from geomndp.auto.split import ValidationSplit
from geomndp.auto.validation import ValidationTasks
from geomndp.model import Model, with_support
from geomndp.train.step import Trainer

PATIENCE = 4
"""Validations in a row without a better one, after which a training ends."""


class TrainedNetwork(NamedTuple):
    """A network that was trained with validation.

    Attributes:
        candidate: The network of the first fold.
        schedule: Its budget.
        best_step: Steps with the best mean validation over the folds.
        models: One model per fold with the parameters of that step, in their own units.
        params: Averaged parameters of the first fold at that step.
        rows: Tasks that measured it, as indices into all tasks.
        held_out: Log-densities of these tasks.
    """

    candidate: NetworkCandidate
    schedule: NetworkSchedule
    best_step: int
    models: tuple[Model, ...]
    params: np.ndarray
    rows: np.ndarray
    held_out: HeldOut

    def measured_on(self, rows: np.ndarray) -> HeldOut:
        """Log-densities of some of its tasks, given by their indices among all tasks."""
        order = np.argsort(self.rows)
        return self.held_out.take(order[np.searchsorted(self.rows, rows, sorter=order)])


def fold_tasks(
    tasks: ValidationTasks, split: ValidationSplit, num_functions: int
) -> tuple[np.ndarray, ValidationTasks]:
    """Tasks of some held-out functions of a split, and their indices among all tasks.

    Args:
        tasks: Tasks of all splits.
        split: The split.
        num_functions: Most functions.

    Returns:
        Indices, and the tasks.
    """
    own = np.flatnonzero(np.isin(tasks.function, split.held_out))
    chosen = np.unique(tasks.take(own).spread(num_functions).function)
    rows = own[np.isin(tasks.function[own], chosen)]
    return rows, tasks.take(rows)


def train_network(
    on_fold: Callable[[int], NetworkCandidate],
    splits: Sequence[ValidationSplit],
    tasks: ValidationTasks,
    schedule: NetworkSchedule,
    *,
    exact: HeldOut | None = None,
    deadline: Callable[[str], Deadline | None] = lambda name: None,
    key: PRNGKeyArray,
    folder: Path | None,
    log: Callable[[str], None],
) -> TrainedNetwork | None:
    """Train a network on the folds of its budget, and measure it at its best step.

    Args:
        on_fold: The network of every fold.
        splits: All splits.
        tasks: Tasks of all splits.
        schedule: Its budget.
        exact: Log-densities of all tasks under the process that it corrects, if any.
        deadline: The deadline of a training by its name.
        key: Random key.
        folder: Keeps checkpoints and validation points; None for nowhere.
        log: Called with a line at every validation.

    Returns:
        The network; None if it was never better than the process that it corrects, or the first
        training diverged or had no time for one validation.
    """
    runs: list[_FoldRun] = []
    probe_key, steps = jr.fold_in(key, 0), schedule.steps
    for fold, split in enumerate(splits[: schedule.num_folds]):
        candidate = on_fold(fold)
        rows, own = fold_tasks(tasks, split, schedule.num_functions)
        start_options = {"steps": schedule.steps, "key": jr.fold_in(key, fold + 1)}
        trainer, state = candidate.start(split.train, **start_options)
        known = None if exact is None else exact.take(rows)
        validation = NetworkValidation(candidate, own, probe_key, known)
        where = f"{candidate.name}, fold {fold + 1}" if fold else candidate.name
        run = train_validated(
            trainer,
            state,
            steps=steps,
            every=schedule.every,
            early=EARLY_STOPS,
            validate=validation,
            mean=validation.mean,
            patience=PATIENCE if fold == 0 else None,
            deadline=deadline(where),
            folder=None if folder is None else folder / candidate.name / f"fold-{fold + 1}",
            settings={"schedule": list(schedule), "train": split.train.tolist()},
            log=_report(log, where, steps),
        )
        if not run.points or (fold and run.points[-1].step < steps):
            break
        steps = run.points[-1].step
        start = None if known is None else known.per_value(own)
        runs.append(_FoldRun(trainer, run, rows, validation, start))
    return _measured(schedule, runs) if runs else None


def _report(log: Callable[[str], None], where: str, end: int) -> Callable[[int, float], None]:
    """What a training calls at every validation."""

    def report(step: int, value: float) -> None:
        log(f"{where}: step {step} of {end}, held-out {value:.3f}")

    return report


class _FoldRun(NamedTuple):
    """The training of one fold, its tasks, and their nats per value before it, where known."""

    trainer: Trainer
    run: ValidatedRun
    rows: np.ndarray
    validation: NetworkValidation
    start: np.ndarray | None

    def gain(self, point: int) -> float:
        """Mean validation at a point, above that of the start."""
        values = self.run.points[point].values
        return self.validation.mean(values - (0.0 if self.start is None else self.start))


def _measured(schedule: NetworkSchedule, runs: list[_FoldRun]) -> TrainedNetwork | None:
    """The best step of all folds together, and the log-densities there."""
    length = min(len(fold.run.points) for fold in runs)
    gains = [np.mean([fold.gain(i) for fold in runs]) for i in range(length)]
    best = int(np.argmax(gains))
    if runs[0].start is not None and not gains[best] > 0:
        return None
    models, measured = [], []
    for fold in runs:
        score = fold.trainer.score(jnp.asarray(fold.run.points[best].params))
        models.append(fold.validation.candidate.in_own_units(score))
        measured.append(fold.validation.held_out(score))
    held = HeldOut(*(np.concatenate(values) for values in zip(*measured, strict=True)))
    point, rows = runs[0].run.points[best], np.concatenate([fold.rows for fold in runs])
    first = runs[0].validation.candidate
    return TrainedNetwork(first, schedule, point.step, tuple(models), point.params, rows, held)


def refit_steps(network: TrainedNetwork, num_train: int, count: int) -> int:
    """Steps of a training of the network on all functions from the start.

    Args:
        network: The network.
        num_train: Functions of its first fold.
        count: Number of all functions.

    Returns:
        As many as were best, scaled by the number of functions.
    """
    return max(CHUNK, round(network.best_step * count / num_train / CHUNK) * CHUNK)


def refit_network(
    network: TrainedNetwork,
    candidate: NetworkCandidate,
    num_train: int,
    count: int,
    *,
    deadline: Deadline | None = None,
    key: PRNGKeyArray,
    folder: Path | None = None,
) -> Model:
    """Train the network on all functions.

    From the start, for as many steps as were best, scaled by the number of functions; where the
    budget does not allow it, from the parameters of the first fold at low learning rates.

    Args:
        network: The network.
        candidate: The candidate whose base, if any, was fitted to all functions.
        num_train: Functions of its first fold.
        count: Number of all functions.
        deadline: Its deadline.
        key: Random key.
        folder: Keeps checkpoints; None for nowhere.

    Returns:
        The model, in the data's units, with a record of its training.
    """
    schedule = network.schedule
    steps = refit_steps(network, num_train, count)
    again = steps <= schedule.refit_steps
    trainer, state = candidate.start(np.arange(count), steps=schedule.steps, key=key)
    done = 0
    if not again:
        steps = schedule.steps
        done = steps - max(CHUNK, min(schedule.refit_steps, steps // 3) // CHUNK * CHUNK)
        state = restarted(state, network.params, done)
    run = train_validated(
        trainer,
        state,
        steps=steps,
        every=steps - done if again else max(CHUNK, (steps - done) // 3 // CHUNK * CHUNK),
        validate=lambda score: np.zeros(1),
        mean=np.mean,
        deadline=deadline,
        folder=folder,
        settings={"schedule": list(schedule), "steps": steps},
    )
    params = run.points[-1].params if run.points else network.params
    model = candidate.model(trainer.score(jnp.asarray(params)))
    return with_support(model, candidate.plan.data, candidate.plan.loss)
