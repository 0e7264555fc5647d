"""Scores of a 1D model on the fixed test functions of its experiment."""

from __future__ import annotations

import dataclasses
from os import PathLike

import jax.numpy as jnp
import jax.random as jr

from geomndp._types import Array, Batch, Float
from geomndp.data import Regression1D
from geomndp.evaluate import exact_log_prob, model_log_prob, summarise
from geomndp.experiments.regression1d.training import problem_for
from geomndp.likelihood import Exact, Flow, Hutchinson
from geomndp.model import Model
from geomndp.score import GaussianScore


def evaluate(model: Model, name: str, **options) -> dict:
    """Evaluate a model on the test functions of its data set; options of `evaluate_on`."""
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

    Pairs are mean and standard error over the functions; everything is ready for JSON. A
    `directory` keeps finished blocks of functions: the same call goes on after a stop. With random
    probes and a Gaussian truth the exact score serves as a control variate (`_probe_noise`).
    """
    tasks = problem.tasks(num, region=region, seed=seed, dtype="float32")
    flow = Flow(divergence=Exact() if probes is None else Hutchinson(probes=probes))
    contexts = problem.contexts[1]
    options = {"contexts": contexts, "route": route, "key": jr.key(7), "batch_size": batch_size}
    options |= {"directory": directory, "devices": devices}
    result = model_log_prob(model, tasks, flow, **options)
    gp = problem.process.gp
    if gp is not None and probes is not None:
        exact = dataclasses.replace(model, score=GaussianScore(gp))
        result = result._replace(value=result.value - _probe_noise(exact, tasks, flow, options))
    metrics: dict = {
        "log_prob": list(summarise(result.value)),
        "solver_error": float(jnp.mean(result.solver_error)),
        "num": num,
        "seed": seed,
        "route": route,
        "probes": probes,
    }
    if gp is not None:
        exact = exact_log_prob(gp, tasks, contexts=contexts)
        metrics["gp"] = list(summarise(exact))
        metrics["regret"] = list(summarise(exact - result.value))
    return metrics


def _probe_noise(exact: Model, tasks: Batch, flow: Flow, options: dict) -> Float[Array, " tasks"]:
    r"""Error that the very same random probes make in the flow of the exact score, per task.

    $\hat{\ell}_{exact} - \ell_{exact}$ has mean zero and is nearly the error
    $\hat{\ell} - \ell$ of a model that is nearly exact: a control variate. The exact score is
    linear, so that its exact divergence is cheap.
    """
    options = options | {"directory": None}
    rough = model_log_prob(exact, tasks, flow, **options)
    without = dataclasses.replace(flow, divergence=Exact())
    return rough.value - model_log_prob(exact, tasks, without, **options).value
