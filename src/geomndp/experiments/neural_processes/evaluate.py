"""Metrics of anything that can be conditioned, function by function, so that rows are paired."""

from __future__ import annotations

from contextlib import nullcontext
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _validation
from geomndp._types import Batch
from geomndp.baselines.neural_processes.autoregressive import Autoregressive
from geomndp.baselines.neural_processes.base import AbstractNeuralProcess
from geomndp.data import FieldProblem, Regression1D
from geomndp.evaluate import interval_coverage, run_resumable
from geomndp.evaluate.padded_tasks import PaddedTasks
from geomndp.evaluate.resumable import AbstractMeasurement
from geomndp.evaluate.task_measurement import TaskMeasurement
from geomndp.experiments.neural_processes.experiment import MODELS, TEST_REGIONS
from geomndp.experiments.neural_processes.problems import exact_process, problem_for
from geomndp.experiments.results import mean_and_error
from geomndp.likelihood import Flow, Hutchinson
from geomndp.model import Model, ProcessModel
from geomndp.predictive import AbstractProcess

PROBES = 16
NUM_SAMPLES = 64
"""Samples of a law without closed forms, for CRPS and coverage."""
COVERAGE = 0.9
ORDERS = 16
"""Random orders of the targets of an autoregressive model."""
SEED = 1234
KEY = 11


class FunctionMetrics(NamedTuple):
    """One number per test function.

    Attributes:
        joint: Nats per target, all targets together.
        marginal: Nats per target, one target at a time.
        crps: Continuous ranked probability score per value.
        coverage: Share of values in the central 90% interval.
    """

    joint: np.ndarray
    marginal: np.ndarray
    crps: np.ndarray
    coverage: np.ndarray

    def summary(self) -> dict[str, list[float]]:
        """Mean and standard error of each."""
        return {name: mean_and_error(values) for name, values in self._asdict().items()}


def evaluate(
    model: Any,
    name: str,
    *,
    num: int,
    region: str | None = None,
    route: str = "conditional",
    probes: int | None = None,
    seed: int = SEED,
    directory: str | PathLike | None = None,
) -> dict[str, Any]:
    """Evaluate a trained neural process on the test functions of its data.

    Args:
        model: Trained model.
        name: Model of the experiment whose data are used.
        num: Number of test functions.
        region: Set of test inputs; by default the first of the suite.
        route: "conditional", the only one.
        probes: Not used: densities have closed forms.
        seed: Seed of the test functions.
        directory: Keeps finished blocks of functions.

    Returns:
        Metrics, JSON-serialisable; `log_prob` are the joint nats.

    Raises:
        ValueError: If there is no such model, region or route.
    """
    _validation.one_of("model", name, tuple(MODELS))
    _validation.one_of("route", route, ("conditional",))
    suite = MODELS[name].suite
    region = TEST_REGIONS[suite][0] if region is None else region
    _validation.one_of("region", region, TEST_REGIONS[suite])
    problem = problem_for(suite, MODELS[name].dataset)
    tasks = padded_tasks(problem, num, region, seed)
    process = with_room(in_model_units(model), tasks)
    measured = function_metrics(process, tasks, directory=directory)
    metrics: dict[str, Any] = {"log_prob": mean_and_error(measured.joint), **measured.summary()}
    law = exact_process(problem)
    if law is not None:
        metrics["regret"] = mean_and_error(function_metrics(law, tasks).joint - measured.joint)
    return metrics | {"num": num, "seed": seed, "region": region}


def in_model_units(model: Any) -> AbstractProcess:
    """The process of a model of a process; anything else as it is.

    Raises:
        ValueError: If the model has units of its own.
    """
    if not isinstance(model, ProcessModel):
        return model
    if model.normaliser is not None:
        raise ValueError("expected a model in the units of the functions, got a normaliser")
    return model.process


def padded_tasks(
    problem: Regression1D | FieldProblem, num: int, region: str, seed: int = SEED
) -> PaddedTasks:
    """Test functions, rows of the context first.

    Args:
        problem: Random functions and their protocol.
        num: Number of functions.
        region: Set of test inputs.
        seed: Seed of functions and contexts.

    Returns:
        Tasks in float32.
    """
    if isinstance(problem, FieldProblem):
        return context_first(problem.tasks(num, seed=seed, dtype="float32"), problem.contexts)
    tasks, c = problem.tasks(num, region=region, seed=seed, dtype="float32"), problem.contexts[1]
    contexts = tasks.x[:, :c], tasks.y[:, :c], tasks.context[:, :c]
    return PaddedTasks(*contexts, tasks.x[:, c:], tasks.y[:, c:], None)


def context_first(tasks: Batch, num_context: int) -> PaddedTasks:
    """Functions with the same number of context points anywhere, as tasks without padding."""
    order = np.argsort(-np.asarray(tasks.context), axis=1, kind="stable")[:, :, None]
    x, y = (jnp.take_along_axis(values, jnp.asarray(order), axis=1) for values in tasks[:2])
    c = num_context
    return PaddedTasks(x[:, :c], y[:, :c], None, x[:, c:], y[:, c:], None)


def function_metrics(
    process: AbstractProcess,
    tasks: PaddedTasks,
    *,
    batch_size: int = 8,
    directory: str | PathLike | None = None,
) -> FunctionMetrics:
    """Joint and marginal nats, CRPS and coverage of every function.

    Laws that are neither models nor neural processes are computed in double precision.

    Args:
        process: What is evaluated.
        tasks: Test functions.
        batch_size: Functions side by side on a device.
        directory: Keeps finished blocks of functions.

    Returns:
        Metrics by function.
    """
    learnt = isinstance(process, Model)
    density: dict[str, Any] = {"flow": Flow(divergence=Hutchinson(PROBES))} if learnt else {}
    options = {"sphere": False, "num_samples": NUM_SAMPLES, "exact": False}
    measurement = TaskMeasurement(**options, batch_size=batch_size, density=density, sampling={})
    exact = has_closed_form(process)
    with jax.enable_x64(True) if exact else nullcontext():
        if exact:
            tasks = jax.tree.map(lambda values: values.astype(jnp.float64), tasks)
        keys = jr.split(jr.key(KEY), len(tasks.y))
        folder = None if directory is None else Path(directory)
        answers = run_resumable(
            measurement, process, (tasks, keys), block_size=64, directory=folder
        )
    targets = tasks.y.shape[1]
    inside = interval_coverage(jnp.asarray(answers["pit"]), COVERAGE)
    return FunctionMetrics(
        np.asarray(answers["joint"]) / targets,
        np.asarray(answers["marginal"]).reshape(-1, targets).mean(axis=1),
        np.asarray(answers["crps"]).reshape(len(keys), -1).mean(axis=1),
        np.asarray(inside).reshape(len(keys), -1).mean(axis=1),
    )


def with_room(process: Any, tasks: PaddedTasks) -> Any:
    """A neural process with room for all points of the tasks; any other as it is."""
    if not isinstance(process, AbstractNeuralProcess):
        return process
    points = (np.asarray(x).reshape(-1, x.shape[-1]) for x in (tasks.context_x, tasks.x))
    return process.with_room(*points)


def has_closed_form(process: AbstractProcess) -> bool:
    """Whether a process is no network: neither a model nor a neural process."""
    return not isinstance(process, Model) and not isinstance(process, AbstractNeuralProcess)


class OrderSpread(AbstractMeasurement):
    """Spread of the joint nats of an autoregressive model over random orders of the targets.

    Attributes:
        batch_size: Functions side by side on a device.
    """

    batch_size: int = eqx.field(default=8, static=True)

    def __call__(self, process, items):
        """Items are tasks and one key per task."""

        def one(item):
            task, key = item
            law = process.condition(task.context_x, task.context_y, mask=task.context_mask)
            keys = jr.split(key, ORDERS)
            nats = jax.lax.map(lambda key: law.log_prob(task.x, task.y, key=key), keys)
            return jnp.std(nats, ddof=1) / len(task.x)

        return {"spread": jax.lax.map(one, items, batch_size=min(self.batch_size, len(items[1])))}


def order_spread(
    process: Autoregressive, tasks: PaddedTasks, *, directory: str | PathLike | None = None
) -> list[float]:
    """How much the joint nats of an autoregressive model depend on the order of the targets.

    Args:
        process: Rolled out one target at a time.
        tasks: Test functions.
        directory: Keeps finished blocks of functions.

    Returns:
        Standard deviation over 16 random orders, nats per target: mean over the functions, and its
        standard error.
    """
    items = tasks, jr.split(jr.key(KEY), len(tasks.y))
    answers = run_resumable(OrderSpread(), process, items, block_size=64, directory=directory)
    return mean_and_error(np.asarray(answers["spread"]))
