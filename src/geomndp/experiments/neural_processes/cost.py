"""What a process costs: parameters, time of a posterior, evaluations of its network."""

from __future__ import annotations

import time
from typing import Any

import equinox as eqx
import jax
import jax.random as jr
import numpy as np

from geomndp.baselines.neural_processes.base import AbstractNeuralProcess
from geomndp.evaluate.padded_tasks import PaddedTasks
from geomndp.experiments.neural_processes.evaluate import has_closed_form
from geomndp.model import Model
from geomndp.predictive import AbstractProcess

NUM_SAMPLES = 64
NUM_TARGETS = 50
REPEATS = 5


def cost(process: AbstractProcess, tasks: PaddedTasks, notes: dict[str, Any]) -> dict[str, Any]:
    """Cost of one process.

    Args:
        process: What is evaluated.
        tasks: Test functions; the first one's context and first 50 targets are used.
        notes: What its card says of its training: `step_seconds`, or `training_seconds` and
            `steps`.

    Returns:
        "parameters", "min_std" (variance floor of a Gaussian head, a standard deviation),
        "step_ms", "posterior_ms" (median of five draws of 64 samples, compiled) and "evaluations"
        of the network for one joint density; None where there is none. JSON-serialisable.
    """
    return {
        "parameters": None if has_closed_form(process) else num_parameters(process),
        "min_std": smallest_std(process),
        "step_ms": step_milliseconds(notes),
        "posterior_ms": posterior_milliseconds(process, tasks),
        "evaluations": density_evaluations(process, tasks),
        "device": jax.devices()[0].device_kind,
    }


def step_milliseconds(notes: dict[str, Any]) -> float | None:
    """Time of a training step: the median, else the mean, in which compilation is contained."""
    median, steps = notes.get("step_seconds"), notes.get("steps")
    mean = notes["training_seconds"] / steps if steps and notes.get("training_seconds") else None
    seconds = mean if median is None else median
    return None if seconds is None else 1000 * seconds


def num_parameters(process: AbstractProcess) -> int:
    """Number of trained numbers: those of the score of a model, all of a neural process."""
    learnt: Any = process.score if isinstance(process, Model) else process
    return sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(learnt, eqx.is_inexact_array)))


def smallest_std(process: Any) -> float | None:
    """Smallest standard deviation that the head of a neural process can give."""
    inner = getattr(process, "process", process)
    return getattr(getattr(inner, "config", None), "min_std", None)


def posterior_milliseconds(process: AbstractProcess, tasks: PaddedTasks) -> float:
    """Median time of 64 samples at 50 targets given the first context, compiled."""
    context, x, times = _context(tasks), tasks.x[0, :NUM_TARGETS], []
    for key in jr.split(jr.key(0), REPEATS + 1):
        start = time.perf_counter()
        jax.block_until_ready(_draw(process, context, x, key))
        times.append(time.perf_counter() - start)
    return 1000 * float(np.median(times[1:]))  # the first one compiles


def density_evaluations(process: AbstractProcess, tasks: PaddedTasks) -> int | None:
    """Evaluations of the network for the joint density of the first function's targets."""
    if has_closed_form(process):
        return None
    targets = tasks.x[0, :NUM_TARGETS], tasks.y[0, :NUM_TARGETS]
    evaluations = int(_count(process, _context(tasks), *targets, jr.key(0)))
    return max(evaluations, 1) if isinstance(process, AbstractNeuralProcess) else evaluations


@eqx.filter_jit
def _draw(process, context, x, key):
    """Samples; compiled once for all processes of a kind, as `_count`."""
    law = process.condition(*context[:2], mask=context[2])
    return law.sample(x, key=key, num_samples=NUM_SAMPLES)


@eqx.filter_jit
def _count(process, context, x, y, key):
    law = process.condition(*context[:2], mask=context[2])
    return law.log_prob_info(x, y, key=key).evaluations


def _context(tasks: PaddedTasks) -> tuple[Any, Any, Any]:
    mask = tasks.context_mask
    return tasks.context_x[0], tasks.context_y[0], None if mask is None else mask[0]
