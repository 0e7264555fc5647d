"""A student beside its teacher: energy scores of samples by the number of calls."""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp._types import Array, Batch, Float, PRNGKeyArray
from geomndp.data import AbstractGenerator
from geomndp.distillation.energy_score import Given, energy_score
from geomndp.linalg import row_mask, zero_masked
from geomndp.model import Model
from geomndp.nets import with_common_capacity
from geomndp.samplers import (
    AbstractProgramSampler,
    Amortised,
    FlowMap,
    Observations,
    Problem,
    adams,
)

CALLS = (1, 2, 4, 8)
TEACHER = Amortised(50)
FLAT_TEACHER = adams()


@dataclasses.dataclass(frozen=True)
class CallsTable:
    """Energy scores of a student and its teacher; `print` shows the table.

    Attributes:
        rows: One row per sampler, JSON-serialisable: its name, evaluations per sample, the mean
            energy score in units of the limiting standard deviation, that relative to the teacher's
            with a standard error over the tasks, None of a single one.
    """

    rows: list[dict[str, Any]]

    def __str__(self) -> str:
        lines = [f"{'sampler':<22} {'evaluations':>11} {'energy score':>13} {'to the teacher':>22}"]
        for row in self.rows:
            error = row["ratio_error"]
            spread = "" if error is None else f" ± {100 * error:.1f}"
            relative = f"{100 * (row['ratio'] - 1):+.1f}{spread} %"
            numbers = f"{row['evaluations']:>11} {row['energy_score']:>13.4f} {relative:>22}"
            lines.append(f"{row['sampler']:<22} {numbers}")
        return "\n".join(lines) if self.rows else "no tasks were compared"


def compare_calls(
    teacher: Model,
    student: Model,
    generator: AbstractGenerator,
    *,
    key: PRNGKeyArray,
    calls: tuple[int, ...] = CALLS,
    num_tasks: int = 16,
    num_samples: int = 64,
) -> CallsTable:
    """Energy scores of samples of a generator's functions given their contexts.

    Args:
        teacher: The model that was distilled, sampled by `Amortised(50)` and, in flat space,
            `adams()`.
        student: Its student, sampled by `FlowMap` with each number of calls.
        generator: Source of functions in the model's units.
        key: Random key of functions and samples.
        calls: Numbers of calls.
        num_tasks: Number of functions, at most one batch; 0 for no table.
        num_samples: Samples per function.

    Returns:
        The table, the teacher first; energy scores are those of `EnergyScoreLoss`.
    """
    if not num_tasks:
        return CallsTable([])
    data_key, sample_key = jr.split(key)
    batch = eqx.filter_jit(lambda source, key: source.draw(key))(generator, data_key)
    has_context = np.flatnonzero(
        np.asarray(batch.context).any(axis=tuple(range(1, batch.context.ndim)))
    )
    order = np.concatenate([has_context, np.setdiff1d(np.arange(len(batch.x)), has_context)])
    batch = jax.tree.map(lambda v: v[order[:num_tasks]], batch)
    options = {"calls": calls, "num_samples": num_samples}
    return compare_calls_on(teacher, student, batch, key=sample_key, **options)


def compare_calls_on(
    teacher: Model,
    student: Model,
    batch: Batch,
    *,
    key: PRNGKeyArray,
    calls: tuple[int, ...] = CALLS,
    num_samples: int = 64,
) -> CallsTable:
    """Energy scores of samples of given functions given their contexts.

    Args:
        teacher: The model that was distilled.
        student: Its student.
        batch: Functions in the model's units, with their contexts.
        key: Random key of the samples.
        calls: Numbers of calls.
        num_samples: Samples per function.

    Returns:
        The table, as that of `compare_calls`.
    """
    laws = {"teacher, 50 steps": (teacher, TEACHER)}
    if teacher.noising.flat:
        laws["teacher, adams(24)"] = (teacher, FLAT_TEACHER)
    laws |= {f"student, {n} call{'s' * (n > 1)}": (student, FlowMap(n)) for n in calls}
    rows, reference = [], None
    for name, (model, sampler) in laws.items():
        scores, evaluations = _scores(model, sampler, batch, num_samples, key=key)
        reference = scores if reference is None else reference
        rows.append(_row(name, scores, reference) | {"evaluations": evaluations})
    return CallsTable(rows)


def _row(name: str, scores: np.ndarray, reference: np.ndarray) -> dict[str, Any]:
    """Mean energy score, and the ratio of means with its standard error by linearisation."""
    ratio = scores.mean() / reference.mean()
    row = {"sampler": name, "energy_score": float(scores.mean()), "ratio": float(ratio)}
    if len(scores) < 2:
        return row | {"ratio_error": None}
    spread = np.std(scores - ratio * reference, ddof=1)
    return row | {"ratio_error": float(spread / np.sqrt(len(scores)) / reference.mean())}


def _scores(
    model: Model,
    sampler: AbstractProgramSampler,
    batch: Batch,
    num_samples: int,
    *,
    key: PRNGKeyArray,
) -> tuple[np.ndarray, int]:
    """Energy score of every function, and evaluations per sample."""
    first = jax.tree.map(lambda v: v[0], batch)
    masks = [row_mask(mask) for mask in batch.mask]
    model = dataclasses.replace(model, score=with_common_capacity(model.score, batch.x, masks))
    scores = _draw(sampler, model, batch, num_samples, jr.split(key, len(batch.x)))
    cost = sampler.program(_problem(model, first)).evaluations
    assert isinstance(cost, int)
    return np.asarray(scores, float), cost


@eqx.filter_jit
def _draw(
    sampler: AbstractProgramSampler, model: Model, batch: Batch, num_samples: int, keys: Array
) -> Float[Array, " b"]:
    def one(item):
        task, key = item
        problem = _problem(model, task)
        y = sampler.draw(problem, key=key, num_samples=num_samples).y
        times = jnp.zeros_like(task.mask)
        free = task.mask * (1.0 - task.context)
        given = Given(model.noising, problem.x, task.y, times, task.mask, free)
        return energy_score(given, jax.vmap(lambda y: zero_masked(y, free))(y))

    return jax.lax.map(one, (batch, keys))


def _problem(model: Model, task: Batch) -> Problem:
    """One function: its targets given its context, both as masks of all its rows."""
    x = zero_masked(task.x, row_mask(task.mask))
    y = zero_masked(task.y, task.mask)
    context = task.mask * task.context
    observations = Observations(x, y, jnp.zeros(len(x), x.dtype), False, context)
    free = task.mask * (1.0 - task.context)
    return Problem(model.noising, model.score, x, observations, model.t_min, free)
