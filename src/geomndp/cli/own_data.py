"""`geomndp train TABLE` and `geomndp evaluate MODEL TABLE`: from a file of functions to answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jax
from rich.console import Console

from geomndp import _model_files, evaluate as evaluation
from geomndp.auto import TrainingPlan, build, fit, simple_models
from geomndp.auto.fine_tuning import fine_tuning_plan
from geomndp.auto.plan import DEFAULT_MINUTES
from geomndp.cli.commands import Evaluate, Train
from geomndp.cli.function_tables import FUNCTION, function_column, noise_columns, periods
from geomndp.cli.needed_columns import NOTED_FUNCTION
from geomndp.cli.reproduce import console_of_tables, rich_table
from geomndp.experiments.registry import Table
from geomndp.model import load
from geomndp.train import adam
from geomndp.train.lock import hold

SHOWN = {
    "joint": "joint nats",
    "marginal": "marginal nats",
    "crps": "CRPS / sd",
    "coverage": "90% coverage",
    "rmse": "RMSE / sd",
    "error_km": "error, km",
    "energy_km": "energy score, km",
}
"""Metrics of a table and their headings."""
MAX_TASKS = 200
"""Most tasks of a kind, unless another number is asked for."""


def train_on_table(command: Train, table: Any, network: dict[str, Any]) -> None:
    """Fit the functions of a table; the same command resumes a stopped run."""
    with hold(Path(command.out)):  # refused before anything is computed; `fit` holds it again
        pass
    plan, console = _plan(command, table, network), Console(markup=False)
    described = plan.described_for(command.minutes, command.steps)
    console.print(str(described), highlight=False, soft_wrap=True)
    notes = {NOTED_FUNCTION: command.function or FUNCTION, "seed": command.seed}
    options: dict[str, Any] = {"directory": command.out, "notes": notes, "quiet": command.quiet}
    _fit(command, plan, options, console)
    if command.simple_models:  # after the fit, which refuses a folder that holds another run
        _save_simple_models(command, plan, notes, console)


def _fit(command: Train, plan: TrainingPlan, options: dict[str, Any], console: Console) -> None:
    """Fit a plan within a time or by steps, and say what came of it."""
    path = Path(command.out) / "model"
    if command.steps is None:
        _, report = fit(plan, minutes=command.minutes, key=command.seed, **options)
        said = console.is_terminal and not command.quiet  # by `fit`, on the same terminal
        text = report.details() if said else str(report)
        console.print(text, highlight=False, soft_wrap=True)
        console.print(f"model: {path}")
        return
    if command.peak_rate is not None:
        options["optimiser"] = adam(command.steps, peak=command.peak_rate)
    options |= {"steps": command.steps, "checkpoint_every": command.checkpoint_every}
    _, history = fit(plan, key=jax.random.key(command.seed), **options)
    console.print(f"loss {history.loss[-1]:.4f} after {command.steps} steps; model: {path}")


def _save_simple_models(
    command: Train, plan: TrainingPlan, notes: dict[str, Any], console: Console
) -> None:
    """Fit what the model has to beat, and save it beside the model."""
    minutes = DEFAULT_MINUTES if command.minutes is None else command.minutes
    for name, model in simple_models(plan, minutes=minutes, key=command.seed).items():
        path = Path(command.out) / name.lower().replace(" ", "-")
        model.save(path, metadata=notes)
        console.print(f"{name}: {path}", highlight=False, soft_wrap=True)


def _plan(command: Train, table: Any, network: dict[str, Any]) -> TrainingPlan:
    """What is trained: a new model, or that of --start in its own units."""
    if command.start is None:
        return build(table, **build_options(command, network))
    options = {"batch_size": 64 if command.batch_size is None else command.batch_size}
    return fine_tuning_plan(load(command.start), table, function=command.function, **options)


def build_options(command: Train, network: dict[str, Any]) -> dict[str, Any]:
    """Arguments of `gn.build`: those of the command that were given."""
    given = {
        "function": command.function,
        "inputs": command.inputs,
        "outputs": command.outputs,
        "symmetry": command.symmetry,
        "codomain": command.codomain,
        "representations": command.representations,
        "covariates": command.covariates,
        "periodic": periods(command.period),
        "noise": noise_columns(command.noise),
        "groups": command.groups,
        "ordered": command.ordered,
        "drop_missing": command.drop_missing,
        "method": command.method,
        "batch_size": command.batch_size,
        "compute_dtype": command.compute_dtype,
    }
    chosen = {name: value for name, value in given.items() if value not in (None, (), {}, False)}
    return {**chosen, **network, "key": jax.random.key(command.seed)}


def evaluate_on_table(command: Evaluate, table: Any) -> None:
    """Evaluate a model, and those it is compared with, on the functions of a table."""
    function = function_column(command, _model_files.metadata(command.name))
    names = (command.name, *command.against)
    models: dict[str, Any] = {name: load(name) for name in names}
    tasks: Any = command.tasks
    if tasks is None:
        tasks = _draw_tasks(command, table, models[command.name].variables, function)
    tasks = evaluation.spread_tasks(tasks, MAX_TASKS if command.num is None else command.num)
    metrics = {}
    for number, (name, model) in enumerate(models.items()):
        folder = None if command.out is None else Path(command.out) / f"model-{number}"
        options: dict[str, Any] = {"density": _density(model, command)}
        options |= {"num_samples": command.num_samples, "directory": folder, "key": command.seed}
        options["progress"] = True
        metrics[name] = evaluation.on_tasks(model, table, tasks, function=function, **options)
    if command.figure is not None:
        from geomndp.plot import save_figure, task_comparison

        save_figure(task_comparison(metrics)[0].figure, command.figure)
    if command.json:
        print(json.dumps({name: each.summary() for name, each in metrics.items()}))
        return
    console = console_of_tables()
    console.print(rich_table(as_table(metrics)))
    console.print(_how(command, models[command.name].variables), highlight=False, soft_wrap=True)


def _how(command: Evaluate, variables: Any) -> str:
    """How densities and samples were computed, and per what a track's are."""
    probes = evaluation.PROBES if command.probes is None else command.probes
    flow = f"{evaluation.FLOW_STEPS} steps of the probability flow, {probes} probes"
    how = f"Gaussian laws: closed forms; networks: {flow}, {command.num_samples} samples"
    if variables.codomain == "sphere":
        return how + "; nats per location, per km2"
    return how + "; nats per target value; sd: standard deviation of the outputs"


def _draw_tasks(command: Evaluate, table: Any, variables: Any, function: str) -> list[dict]:
    functions = evaluation.read_function_rows(table, variables, function)
    options = {"contexts": command.context, "forecast": command.forecast}
    return evaluation.random_tasks(functions, **options, seed=command.seed)


def _density(model: Any, command: Evaluate) -> dict[str, Any]:
    """Options of the density of diffusion models, of a mixture too; other laws have none."""
    flat = getattr(model, "flat", model)
    learnt = any(hasattr(member, "noising") for member in getattr(flat, "members", (flat,)))
    if not learnt:
        return {}
    options: dict[str, Any] = {} if command.route == "conditional" else {"route": command.route}
    if command.probes is not None:
        options["flow"] = evaluation.task_flow(command.probes)
    return options


def as_table(metrics: dict[str, evaluation.TaskMetrics]) -> Table:
    """Means with their standard errors over functions, one row per kind and model."""
    summaries = {name: each.summary() for name, each in metrics.items()}
    known = next(iter(summaries[next(iter(metrics))].values()))
    columns = [key for key in SHOWN if key in known]
    header, rows = ["tasks", "model", *(SHOWN[key] for key in columns)], []
    for row in evaluation.compare(metrics).to_dict("records"):
        summary = summaries[row["process"]][row["kind"]]
        cells = [cell(*summary[key]) for key in columns]
        if len(metrics) > 1:
            cells.append(cell(row["joint_gain"], row["joint_gain_se"]))
        rows.append((f"{row['kind']}, {row['tasks']}", row["process"], *cells))
    if len(metrics) > 1:
        header.append("gain of the first, nats")
    return Table("Evaluation on tasks", tuple(header), rows)


def cell(mean: float, error: float | None) -> str:
    """A mean with its standard error."""
    digits = 1 if abs(mean) >= 100 else 3
    return f"{mean:.{digits}f}" + ("" if error is None else f" ± {error:.{digits}f}")
