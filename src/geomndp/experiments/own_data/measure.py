"""Fit and evaluate every set: one call with the same code, resumable, times apart.

Beside our fit stand the baselines that the folder publishes, rebuilt from their parameters and
evaluated by the same call on the same tasks, so that differences are paired.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from geomndp import _atomic_io, evaluate
from geomndp.auto import build, fit
from geomndp.baselines import AzimuthalGP
from geomndp.evaluate import TaskMetrics, paired_differences
from geomndp.experiments import results as files
from geomndp.experiments.own_data.data_sets import (
    FunctionSet,
    find_folder,
    read_set,
    set_names,
)
from geomndp.experiments.own_data.published import published_processes
from geomndp.experiments.own_data.published_tracks import published_tracks
from geomndp.model import ProcessModel, load
from geomndp.predictive import AbstractProcess

MINUTES = 4.0
"""Time of a fit on two CPU cores: below the five that a user is promised."""
NO_DENSITY = -1e9
"""Nats that stand for minus infinity in stored results."""
SEED = 0
OURS = "ours"


def measure(
    num: int,
    *,
    only: Sequence[str] = (),
    data: str | None = None,
    directory: Path,
    minutes: float = MINUTES,
    log: Callable[[str], object] = print,
) -> dict[str, Any]:
    """Fit and evaluate sets, one after the other; finished ones are not computed again.

    Args:
        num: At most so many tasks of every kind.
        only: Names of sets; all of the folder by default.
        data: Folder of the sets; that of the environment by default.
        directory: Folder that keeps fits, blocks of evaluations and results.
        minutes: Time of every fit.
        log: Callback for progress messages.

    Returns:
        Results by set, JSON-serialisable.

    Raises:
        ValueError: If a set is not there.
    """
    folder = find_folder(data)
    names = tuple(only) or set_names(folder)
    sets = {name: read_set(folder, name) for name in names}  # all are there before one is fitted
    measured = {}
    for name, function_set in sets.items():
        log(f"{name}: {len(function_set.train)} training functions")
        options = {"num": num, "minutes": minutes, "log": log}
        measured[name] = measure_set(function_set, directory / name, **options)
    return {"sets": measured}


def measure_set(
    function_set: FunctionSet,
    directory: Path,
    *,
    num: int,
    minutes: float,
    log: Callable[[str], object] = print,
) -> dict:
    """Fit one set and evaluate it; what was finished is read from the folder.

    Args:
        function_set: The set.
        directory: Its folder of results.
        num: At most so many tasks of every kind, evenly spread over functions.
        minutes: Time of the fit.
        log: Callback for progress messages.

    Returns:
        Metrics by model and kind, paired gains, seconds, and how often the tasks were run.
    """
    path = directory / f"result-{num}.json"
    if path.exists():
        return files.read(path)
    processes, seconds, report = fit_set(function_set, directory, minutes)
    log(f"{function_set.name}: fitted in {seconds[OURS]:.0f} s; {report}")
    tasks = evaluate.spread_tasks(function_set.tasks, num)
    runs = _count_run(directory / "runs.json", num)
    metrics, evaluation = {}, {}
    for name, process in processes.items():
        start = time.monotonic()
        metrics[name] = evaluate_process(process, function_set, tasks, directory / name / str(num))
        evaluation[name] = round(time.monotonic() - start, 1)
        log(f"{function_set.name}: {name}, {len(tasks)} tasks in {evaluation[name]:.0f} s")
    result = {
        "functions": len(function_set.train),
        "runs": runs,
        "report": report,
        "models": {name: _entry(each, seconds, evaluation, name) for name, each in metrics.items()},
        "gains": {name: _gains(metrics[OURS], each) for name, each in metrics.items()},
        "pit": np.histogram(metrics[OURS].pit, 10, (0, 1))[0].tolist(),
        "published": {name: _shown(each) for name, each in function_set.published.items()},
    }
    del result["gains"][OURS]
    result = _finite(result)
    files.write(path, result)
    return result


def fit_set(
    function_set: FunctionSet, directory: Path, minutes: float
) -> tuple[dict[str, AbstractProcess], dict[str, float], str]:
    """Our fit and the published baselines, with the seconds of each and our report."""
    kept = directory / "report.json"  # "fit.json" would be the card of a model "fit"
    if not kept.exists():
        start = time.monotonic()
        plan = build(function_set.training_table, key=SEED, **function_set.options)
        building = time.monotonic() - start
        options = {"directory": directory / "fit", "quiet": True}
        _, report = fit(plan, minutes=minutes, key=SEED, **options)
        # The fit's own clock resumes with a stopped run.
        found = {"seconds": building + report.seconds["all"], "report": report.sentence()}
        files.write(kept, {**found, "whole": str(report)})
    done = files.read(kept)
    seconds = {OURS: round(done["seconds"], 1)}
    simple = _baselines(function_set)
    seconds |= {name: round(function_set.published[name]["seconds"], 1) for name in simple}
    # From its file, also the first time: a stopped evaluation resumes with the same process.
    return {OURS: load(directory / "fit"), **simple}, seconds, done["report"]


def _baselines(function_set: FunctionSet) -> dict[str, AbstractProcess]:
    if function_set.options["codomain"] == "sphere":
        return {"gp": published_tracks(function_set)}
    return published_processes(function_set)


def evaluate_process(
    process: AbstractProcess, function_set: FunctionSet, tasks: Sequence, directory: Path
) -> TaskMetrics:
    """Metrics of one process on the tasks of a set; exact processes in double precision."""
    options = function_set.options
    outputs = list(options["outputs"])
    scale = None
    if options["codomain"] == "real":
        scale = function_set.training_table[outputs].std(ddof=0).to_numpy()
    names = {name: options[name] for name in ("function", "inputs", "outputs", "codomain")}
    kept = {"directory": directory, "progress": True}
    kept["batch_size"] = 16 if jax.default_backend() == "cpu" else 64
    with jax.enable_x64(isinstance(process, ProcessModel | AzimuthalGP)):
        return evaluate.on_tasks(
            process, function_set.table, tasks, **names, scale=scale, key=SEED, **kept
        )


def _shown(published: dict[str, Any]) -> dict[str, Any]:
    """What tables show of a published baseline: numbers by kind and seconds, no parameters."""
    return {name: published[name] for name in ("seconds", "choice", "kinds") if name in published}


def _finite(value: Any) -> Any:
    """The same results as JSON can hold them: no density at all is `NO_DENSITY` nats."""
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    if isinstance(value, float) and not np.isfinite(value):
        return np.sign(value) * -NO_DENSITY if np.isinf(value) else None
    return value


def _count_run(path: Path, num: int) -> int:
    """How often the test tasks were run from this folder, this time included."""
    counts = json.loads(path.read_text()) if path.exists() else []
    if num not in counts:  # a resumed run is one run
        _atomic_io.write(path, json.dumps([*counts, num]))
    return len({*counts, num})


def _entry(metrics: TaskMetrics, seconds, evaluation, name: str) -> dict[str, Any]:
    times = {"fit_seconds": seconds[name], "evaluation_seconds": evaluation[name]}
    return {**times, "kinds": metrics.summary(), "all": metrics.over_kinds()}


def _gains(ours: TaskMetrics, other: TaskMetrics) -> dict[str, dict[str, list[float | None]]]:
    """Metric -> kind -> [ours minus the other's, standard error over functions]."""
    gains: dict[str, dict[str, list[float | None]]] = {}
    metrics = ("joint", "marginal", "crps", "energy_km", "error_km")
    for difference in paired_differences(ours, other, metrics):
        pair = [difference.mean, difference.standard_error]
        gains.setdefault(difference.metric, {})[difference.kind] = pair
    return gains
