"""`gn.distil`: a student of a trained model, which samples in one to a few evaluations."""

from __future__ import annotations

import dataclasses
from os import PathLike
from pathlib import Path
from typing import Any

import jax
import jax.random as jr

from geomndp import _validation
from geomndp._types import Batch, PRNGKeyArray
from geomndp._validation import as_key
from geomndp.data import ResampledGenerator
from geomndp.distillation.comparison import CALLS, CallsTable, compare_calls
from geomndp.distillation.energy_score import EnergyScoreLoss
from geomndp.distillation.lagrangian import LagrangianLoss
from geomndp.distillation.pooled_data import pooled
from geomndp.distillation.trajectory_loss import TrajectoryLoss
from geomndp.model import Model
from geomndp.model.inputs import Seed
from geomndp.model.model import in_full_precision
from geomndp.model.outside_training import warn_about_functions
from geomndp.model.training_functions import functions_in_units
from geomndp.nets import AbstractNet, extend_network, has_target_times, with_config
from geomndp.score import NetworkScore
from geomndp.tables import is_table
from geomndp.train import adam, fit_score
from geomndp.train.fingerprint import fingerprint
from geomndp.train.fit import as_generators

PEAK_RATE = 1e-3
"""Highest learning rate: the student starts as its teacher."""


def as_student(model: Model, *, key: PRNGKeyArray) -> Model:
    """The model with a second time per point, before it is trained: it gives what the model gives.

    Args:
        model: A model with a trained network.
        key: Random key of the new parameters.

    Returns:
        An untrained student; its support and units are those of the model.

    Raises:
        ValueError: If the model has no network that can take target times, or is a student.
    """
    model = _teacher(model)
    score: Any = model.score
    net = extend_network(score.net, key=key, target_times=True)
    return dataclasses.replace(model, score=dataclasses.replace(score, net=net))


def distil(
    model: Model,
    data: Any,
    *,
    steps: int,
    key: Seed,
    loss: TrajectoryLoss | LagrangianLoss | EnergyScoreLoss | None = None,
    start: Model | None = None,
    num_solved: int | None = None,
    compute_dtype: str | None = None,
    directory: str | PathLike[str] | None = None,
    notes: dict[str, Any] | None = None,
    calls: tuple[int, ...] = CALLS,
    num_tasks: int = 16,
    **options: Any,
) -> tuple[Model, CallsTable]:
    """Train a student of a model: `samplers.FlowMap` then draws in one to a few evaluations.

    Args:
        model: The teacher, a trained model with a `NetworkScore`.
        data: What it was trained on, or alike: a generator of functions in the model's units,
            several that are interleaved, a batch of functions in the data's units, or a table, with
            the name of its column as `function`.
        steps: Number of training steps.
        key: Random key or seed of the whole run.
        loss: By default the trajectory loss with `model` as the teacher.
        start: A student whose parameters training starts from; by default the teacher's.
        num_solved: Batches whose flow is solved beforehand and kept (`TrajectoryPool`); by default
            one per 100 steps, at least 8 and at most what 1 GiB holds. 0 solves every step anew,
            as do all losses but `TrajectoryLoss`.
        compute_dtype: Precision of the student's products in training, such as "bfloat16".
        directory: Folder for the run and, when done, the student: `gn.load` takes the folder.
            Re-running the call resumes where it was stopped.
        notes: Metadata (JSON) to save with the student.
        calls: Numbers of calls in the table at the end.
        num_tasks: Functions of that table, at most the batch; 0 for no table.
        **options: Those of `geomndp.train.fit_score`: `optimiser`, `ema_decay`, `quiet`,
            `checkpoint_every`, `devices`, ...

    Returns:
        The student, a `Model`, and a table of its energy scores by the number of calls beside
        those of the teacher, to print.

    Raises:
        ValueError: If the model has no network that can take target times, is a student already,
            or the folder holds another run.

    Example:
        `student, table = gn.distil(gn.load("regression1d/se"), data, steps=8000, key=0)`
    """
    _validation.at_least(1, steps=steps)
    _validation.at_least(0, num_tasks=num_tasks)
    teacher, (student_key, train_key, table_key) = _teacher(model), jr.split(as_key(key), 3)
    generators = _generators(teacher, data, options.pop("function", None))
    student = as_student(teacher, key=student_key) if start is None else _checked(start, teacher)
    student = in_precision(student, compute_dtype)
    loss = TrajectoryLoss(teacher.score, teacher.t_min) if loss is None else loss
    sources = pooled(loss, student.noising, generators, steps, num_solved, key=train_key)
    if directory is not None:
        units = {name: getattr(model, name) for name in ("normaliser", "variables", "t_min")}
        options = {"directory": directory, "model_settings": units, **options}
    options |= {"steps": steps, "key": train_key, "loss": loss}
    student, seconds = _trained(student, sources, **options)
    record = {"steps": steps, "training_seconds": seconds, **(notes or {})}
    _save(student, directory, record)  # kept, should the table be stopped
    table = compare_calls(
        teacher, student, generators[0], key=table_key, calls=calls, num_tasks=num_tasks
    )
    _save(student, directory, {"calls": table.rows} | record)
    return student, table


def _trained(student: Model, sources: Any, *, steps: int, **options: Any) -> tuple[Model, float]:
    """The student after its training, in full precision, and the seconds that this took."""
    ema_decay = min(0.999, max(0.5, 1 - 20 / steps))
    options = {"optimiser": adam(steps, peak=PEAK_RATE), "ema_decay": ema_decay, **options}
    untrained: Any = student.score
    score, history = fit_score(untrained, student.noising, sources, steps=steps, **options)
    score = dataclasses.replace(score, conditional=True)
    student = in_precision(dataclasses.replace(student, score=score), None)
    return student, float(history.seconds[-1]) if len(history.seconds) else 0.0


def _save(student: Model, directory: str | PathLike[str] | None, record: dict[str, Any]) -> None:
    if directory is not None and jax.process_index() == 0:
        student.save(Path(directory) / "model", record)


def in_precision(model: Model, compute_dtype: str | None) -> Model:
    """The model with the products inside its network in another precision.

    Args:
        model: A model with a `NetworkScore`.
        compute_dtype: Such as "bfloat16"; None for that of the values.
    """
    score: Any = model.score
    net = with_config(score.net, compute_dtype=compute_dtype)
    return dataclasses.replace(model, score=dataclasses.replace(score, net=net))


def _teacher(model: Any) -> Model:
    """The model in full precision, refused where it cannot teach."""
    score = getattr(model, "score", None)
    if not isinstance(model, Model) or not isinstance(score, NetworkScore):
        got = type(model).__name__ if score is None else type(score).__name__
        raise ValueError(f"expected a model with a trained network to distil, got {got}")
    if has_target_times(score.net):
        raise ValueError("expected a teacher without target times, got a student; see start=...")
    config = score.net.config.to_dict() if isinstance(score.net, AbstractNet) else {}
    if "target_times" not in config:
        raise ValueError(
            "expected a network that can have target times (RelativeAttention, "
            "BiDimensionalAttention, Steerable2, SphericalAttention), "
            f"got {type(score.net).__name__}"
        )
    if not score.conditional:
        raise ValueError("expected a teacher trained with contexts, got one that was not")
    return in_full_precision(model)


def _checked(start: Any, teacher: Model) -> Model:
    """A student to go on from, refused where it is not the teacher's."""
    if not isinstance(start, Model) or not start.score.has_flow_map:
        raise ValueError(f"expected a student as the start, got a {type(start).__name__} without")
    if start.noising != teacher.noising or start.t_min != teacher.t_min:
        raise ValueError("expected a student of the same noising and t_min as the teacher's")
    units = [(m.normaliser, m.variables) for m in (start, teacher)]
    if fingerprint(units[0]) != fingerprint(units[1]):
        raise ValueError("expected a student in the units and of the variables of the teacher's")
    return in_full_precision(start)


def _generators(model: Model, data: Any, function: str | None) -> tuple[Any, ...]:
    """Sources of training functions in the model's units."""
    if data is None:
        raise ValueError("expected functions to learn from, got none")
    if is_table(data):
        from geomndp.auto.fine_tuning import fine_tuning_plan

        plan = fine_tuning_plan(model, data, function=function)
        if plan.functions is not None:
            warn_about_functions(model, plan.functions.y, plan.functions.mask)
        return as_generators(plan.data)
    if isinstance(data, Batch):
        functions = functions_in_units(model, data)
        warn_about_functions(model, data.y, data.mask)
        size = min(256, len(functions.x))
        return as_generators(ResampledGenerator(functions=functions, batch_size=size))
    return as_generators(data)
