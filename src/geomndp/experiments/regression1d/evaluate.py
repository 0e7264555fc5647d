"""Metrics of a 1D model on the fixed test functions of its data set."""

from __future__ import annotations

from os import PathLike

import jax.numpy as jnp
import jax.random as jr

from geomndp.data import Regression1D
from geomndp.evaluate import controlled_log_likelihood, log_likelihood, summarise
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
    flow = Flow(divergence=Exact() if probes is None else Hutchinson(probes=probes))
    contexts = problem.contexts[1]
    options = {"num_context": contexts, "batch_size": batch_size, "devices": devices}
    solved = options | {"key": jr.key(7), "flow": flow, "route": route, "directory": directory}
    gp, metrics = problem.process.gp, {}
    exact = None if gp is None else log_likelihood(gp, tasks, **options).value
    if gp is not None and exact is not None and probes is not None:
        score, solved["error_flow"] = GaussianScore(gp), Flow()
        log_probs, error = controlled_log_likelihood(model, tasks, score, exact, **solved)
        metrics["exact_flow"] = list(summarise(error / log_probs.num_targets))
    else:
        log_probs = log_likelihood(model, tasks, **solved)
    per_target = log_probs.per_target()
    metrics |= {
        "log_prob": list(summarise(per_target.value)),
        "solver_error": float(jnp.mean(per_target.solver_error)),
        "num": num,
        "seed": seed,
        "route": route,
        "probes": probes,
    }
    if exact is not None:
        exact = exact / log_probs.num_targets
        metrics["gp"] = list(summarise(exact))
        metrics["regret"] = list(summarise(exact - per_target.value))
    return metrics
