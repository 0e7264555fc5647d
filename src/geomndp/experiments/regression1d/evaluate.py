"""Metrics of a 1D model on the fixed test functions of its data set."""

from __future__ import annotations

from os import PathLike
from typing import Any, NamedTuple

import jax.numpy as jnp
import jax.random as jr

from geomndp._types import Array, Batch, Float
from geomndp.data import Regression1D
from geomndp.evaluate import controlled_log_likelihood, log_likelihood, summarise
from geomndp.evaluate.log_likelihood import LogLikelihoods
from geomndp.experiments.regression1d.training import problem_for
from geomndp.likelihood import Exact, Flow, Hutchinson
from geomndp.model import Model
from geomndp.score import GaussianScore


def evaluate(model: Model, name: str, **options) -> dict:
    """Evaluate a model on the test functions of its data set.

    Args:
        model: Trained model.
        name: Model of the experiment whose data set is used.
        **options: Arguments of `evaluate_on`.

    Returns:
        Metrics, JSON-serialisable.
    """
    return evaluate_on(model, problem_for(name), **options)


def evaluate_on(
    model: Model,
    problem: Regression1D,
    *,
    num: int,
    region: str = "in-range",
    route: str = "conditional",
    probes: int | None = None,
    seed: int = 1234,
    batch_size: int = 64,
    directory: str | PathLike | None = None,
    devices=None,
) -> dict:
    """Log-likelihood per target with its errors and, where the truth is Gaussian, the regret.

    Pairs are mean and standard error over the functions; everything is JSON-serialisable. A
    `directory` keeps finished blocks of functions: re-running the call resumes there. With random
    probes and a Gaussian truth the flow of the exact score serves as a control variate
    (`controlled_log_likelihood`); `exact_flow`, by an exact divergence, is the error of that flow.
    """
    tasks = problem.tasks(num, region=region, seed=seed, dtype="float32")
    options = {"route": route, "probes": probes, "batch_size": batch_size, "devices": devices}
    found = log_probs_of(model, problem, tasks, **options, directory=directory)
    num_targets, per_target = found.log_probs.num_targets, found.log_probs.per_target()
    metrics = {
        "log_prob": list(summarise(per_target.value)),
        "solver_error": float(jnp.mean(per_target.solver_error)),
        "num": num,
        "seed": seed,
        "route": route,
        "probes": probes,
    }
    if found.flow_error is not None:
        metrics["exact_flow"] = list(summarise(found.flow_error / num_targets))
    if found.exact is not None:
        exact = found.exact / num_targets
        metrics["gp"] = list(summarise(exact))
        metrics["regret"] = list(summarise(exact - per_target.value))
    return metrics


class FunctionLogProbs(NamedTuple):
    """Log-densities of a model, function by function.

    Attributes:
        log_probs: Totals, with their errors.
        exact: Nats per function of the exact process; None unless the truth is Gaussian.
        flow_error: Nats per function by which the exact score's flow differs from the exact
            process; None without a control variate.
    """

    log_probs: LogLikelihoods
    exact: Float[Array, " tasks"] | None
    flow_error: Float[Array, " tasks"] | None


def log_probs_of(
    model: Model,
    problem: Regression1D,
    tasks: Batch,
    *,
    route: str = "conditional",
    probes: int | None = None,
    **run: Any,
) -> FunctionLogProbs:
    """Log-density of the targets of every function given its context, with a control variate.

    Args:
        model: Trained model.
        problem: Process and protocol of the functions.
        tasks: What `problem.tasks` gives.
        route: "conditional" or "joint".
        probes: Random probes of the divergence; None for an exact one.
        **run: Fields of `RunOptions`: `batch_size`, `directory`, `devices`.

    Returns:
        Log-densities; with random probes and a Gaussian truth as of `controlled_log_likelihood`.
    """
    flow = Flow(divergence=Exact() if probes is None else Hutchinson(probes=probes))
    solved = {"key": jr.key(7), "flow": flow, "route": route, "num_context": problem.contexts[1]}
    gp = problem.process.gp
    if gp is None:
        return FunctionLogProbs(log_likelihood(model, tasks, **solved, **run), None, None)
    kept = {name: value for name, value in run.items() if name != "directory"}
    exact = log_likelihood(gp, tasks, num_context=problem.contexts[1], **kept).value
    if probes is None:
        return FunctionLogProbs(log_likelihood(model, tasks, **solved, **run), exact, None)
    solved["error_flow"] = Flow()
    score = GaussianScore(gp)
    log_probs, error = controlled_log_likelihood(model, tasks, score, exact, **solved, **run)
    return FunctionLogProbs(log_probs, exact, error)
