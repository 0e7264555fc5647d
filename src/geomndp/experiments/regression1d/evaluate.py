"""Metrics of a 1D model on the fixed test functions of its data set."""

from __future__ import annotations

import dataclasses
from os import PathLike

import jax.numpy as jnp
import jax.random as jr

from geomndp._types import Array, Batch, Float
from geomndp.data import Regression1D
from geomndp.evaluate import log_likelihood, summarise
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
    probes and a Gaussian truth the exact score serves as a control variate (`_probe_noise`).
    """
    tasks = problem.tasks(num, region=region, seed=seed, dtype="float32")
    flow = Flow(divergence=Exact() if probes is None else Hutchinson(probes=probes))
    contexts = problem.contexts[1]
    options = {"num_context": contexts, "batch_size": batch_size, "devices": devices}
    solved = options | {"key": jr.key(7), "flow": flow, "route": route, "directory": directory}
    log_probs = log_likelihood(model, tasks, **solved)
    value = log_probs.value
    gp = problem.process.gp
    if gp is not None and probes is not None:
        exact = dataclasses.replace(model, score=GaussianScore(gp))
        value = value - _probe_noise(exact, tasks, solved | {"directory": None})
    per_target = value / log_probs.num_targets
    metrics: dict = {
        "log_prob": list(summarise(per_target)),
        "solver_error": float(jnp.mean(log_probs.per_target().solver_error)),
        "num": num,
        "seed": seed,
        "route": route,
        "probes": probes,
    }
    if gp is not None:
        exact = log_likelihood(gp, tasks, **options).per_target().value
        metrics["gp"] = list(summarise(exact))
        metrics["regret"] = list(summarise(exact - per_target))
    return metrics


def _probe_noise(exact: Model, tasks: Batch, options: dict) -> Float[Array, " tasks"]:
    r"""Error that the very same random probes make in the flow of the exact score, per task.

    $\hat{\ell}_{exact} - \ell_{exact}$ has mean zero and is nearly the error
    $\hat{\ell} - \ell$ of a model that is nearly exact: a control variate. The exact score is
    linear, so that its exact divergence is cheap.
    """
    rough = log_likelihood(exact, tasks, **options)
    without = options | {"flow": dataclasses.replace(options["flow"], divergence=Exact())}
    return rough.value - log_likelihood(exact, tasks, **without).value
