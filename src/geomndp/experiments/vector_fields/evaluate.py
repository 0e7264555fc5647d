"""Metrics of a field model on fixed test fields, beside the exact and the diagonal process."""

from __future__ import annotations

from os import PathLike

import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._types import Batch
from geomndp.data import FieldProblem, covariance
from geomndp.evaluate import (
    GridModel,
    controlled_log_likelihood,
    gp_log_probs,
    log_likelihood,
    summarise,
)
from geomndp.experiments.score_errors import joint_and_conditional
from geomndp.experiments.vector_fields.training import problem_for
from geomndp.likelihood import Flow, Hutchinson
from geomndp.model import Model
from geomndp.score import GridGaussianScore


def evaluate(
    model: Model,
    name: str,
    *,
    region: str = "interpolation",
    probes: int | None = None,
    functions: int | None = None,
    **options,
) -> dict:
    """Evaluate a model on the fixed test fields of its data.

    Args:
        model: Trained model.
        name: Model of the experiment whose data are used.
        region: "interpolation", the only one.
        probes: Random probes of the divergence; eight by default.
        functions: Size of the training set, which makes no difference here.
        **options: Further arguments of `evaluate_on`.

    Returns:
        Metrics, JSON-serialisable.

    Raises:
        ValueError: For another region.
    """
    _validation.one_of("region", region, ("interpolation",))
    return evaluate_on(model, problem_for(name), probes=probes or 8, **options)


def evaluate_on(
    model: Model,
    problem: FieldProblem,
    *,
    num: int = 512,
    route: str = "conditional",
    probes: int = 8,
    flow: Flow | None = None,
    seed: int = 1234,
    batch_size: int = 32,
    directory: str | PathLike | None = None,
    devices=None,
) -> dict:
    """Log-likelihood per target given 25 observed points, and the regret to the exact process.

    Pairs are mean and standard error over the fields. `probe_error` and `solver_error` are means
    of the errors of one field; that of the mean regret from probes is smaller by sqrt(num). The
    flow is RK4 on 16 steps unless given: its error is below that of 100 Heun steps.
    """
    tasks = problem.tasks(num, seed=seed, dtype="float32")
    options = {"route": route, "flow": flow, "batch_size": batch_size, "devices": devices}
    metrics = evaluate_tasks(model, problem, tasks, probes=probes, directory=directory, **options)
    return metrics | {"seed": seed}


def evaluate_tasks(
    model: Model,
    problem: FieldProblem,
    tasks: Batch,
    *,
    route: str = "conditional",
    probes: int = 8,
    flow: Flow | None = None,
    batch_size: int = 32,
    directory: str | PathLike | None = None,
    devices=None,
) -> dict:
    """Log-likelihood per target and regret of any fields that share their locations.

    Every field of `tasks` has `problem.contexts` context points. Metrics as of `evaluate_on`,
    without the seed. By the conditional route the flow of the exact score serves as a control
    variate (`controlled_log_likelihood`), and `exact_flow` is its error.
    """
    flow = Flow(divergence=Hutchinson(probes=probes)) if flow is None else flow
    options = {"key": jr.key(7), "flow": flow, "route": route, "devices": devices}
    options |= {"batch_size": batch_size, "block_size": max(batch_size, 128)}
    options["directory"] = directory
    grid_model = GridModel(model, problem.contexts)
    exact, diagonal = gp_log_probs(problem.gp, tasks)
    metrics = {}
    if route == "conditional":
        score = exact_grid_score(problem)
        log_probs, error = controlled_log_likelihood(grid_model, tasks, score, exact, **options)
        metrics["exact_flow"] = list(summarise(error / log_probs.num_targets))
    else:
        log_probs = log_likelihood(grid_model, tasks, **options)
    exact, diagonal = (total / log_probs.num_targets for total in (exact, diagonal))
    value, solver_error, probe_error = log_probs.per_target()
    return metrics | {
        "log_prob": list(summarise(value)),
        "gp": list(summarise(exact)),
        "diagonal_gp": list(summarise(diagonal)),
        "regret": list(summarise(exact - value)),
        "solver_error": float(jnp.mean(solver_error)),
        "probe_error": float(jnp.mean(probe_error)),
        "num": len(tasks.y),
        "route": route,
        "probes": probes,
    }


def field_score_errors(
    model: Model,
    problem: FieldProblem,
    *,
    num: int = 256,
    batches: int = 4,
    cells: int = 32,
    seed: int = 0,
) -> dict:
    """Joint and conditional score errors on fixed test fields, nats per target."""
    tasks = problem.tasks(num, seed=seed, dtype="float32")
    return score_errors_of(model, problem, tasks, batches=batches, cells=cells, seed=seed)


def score_errors_of(
    model: Model, problem: FieldProblem, tasks: Batch, *, batches: int, cells: int, seed: int = 0
) -> dict:
    """Joint and conditional score errors on any fields on the grid of a problem."""
    exact = exact_grid_score(problem)
    return joint_and_conditional(model, exact, tasks, seed=seed, batches=batches, cells=cells)


def exact_grid_score(problem: FieldProblem) -> GridGaussianScore:
    """The exact score of a problem's fields on its grid, jointly and given its contexts."""
    matrix = covariance(problem.gp, problem.grid)
    return GridGaussianScore(matrix, problem.gp.dim, problem.contexts, "float32")
