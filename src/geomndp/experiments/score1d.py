"""Scores of a 1D model on the fixed test functions of its experiment."""

from __future__ import annotations

from os import PathLike

import jax.numpy as jnp
import jax.random as jr

from geomndp.evaluate import exact_log_prob, model_log_prob, summarise
from geomndp.experiments.regression1d import Experiment
from geomndp.likelihood import Exact, Flow, Hutchinson
from geomndp.model import Model


def score(
    model: Model,
    this: Experiment,
    *,
    num: int,
    region: str = "interpolation",
    route: str = "conditional",
    probes: int | None = None,
    seed: int = 1234,
    at_once: int = 64,
    directory: str | PathLike | None = None,
    devices=None,
) -> dict:
    """Log-likelihood per target with its errors and, where the truth is Gaussian, the regret.

    Pairs are mean and standard error over the functions; everything is ready for JSON. A
    `directory` keeps finished blocks of functions: the same call goes on after a stop.
    """
    problem = this.problem
    tasks = problem.tasks(num, region=region, seed=seed, dtype="float32")
    flow = Flow(divergence=Exact() if probes is None else Hutchinson(probes=probes))
    contexts = problem.contexts[1]
    result = model_log_prob(
        model,
        tasks,
        flow,
        contexts=contexts,
        route=route,
        key=jr.key(7),
        at_once=at_once,
        directory=directory,
        devices=devices,
    )
    metrics: dict = {
        "log_prob": list(summarise(result.value)),
        "solver_error": float(jnp.mean(result.solver_error)),
        "num": num,
        "seed": seed,
        "route": route,
        "probes": probes,
    }
    gp = problem.process.gp
    if gp is not None:
        exact = exact_log_prob(gp, tasks, contexts=contexts)
        metrics["gp"] = list(summarise(exact))
        metrics["regret"] = list(summarise(exact - result.value))
    return metrics
