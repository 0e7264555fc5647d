"""What is refused before JAX is imported, which takes seconds; for tables, see `input_tables`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from geomndp import _atomic_io, _model_files, _validation
from geomndp._table_files import read_table
from geomndp.cli.commands import Demo, Evaluate, Play, Reproduce, Train
from geomndp.cli.distil_args import Distil
from geomndp.cli.function_tables import read_student_table, read_test_table, read_training_table
from geomndp.cli.input_tables import model_names
from geomndp.experiments.registry import experiment, find


def check_demo(command: Demo) -> None:
    """Check numbers and the page."""
    _validation.at_least(2, num_samples=command.num_samples)
    _validation.at_least(0, steps=command.steps)
    _atomic_io.check_writable(Path(command.out) / "demo.html")


def check_play(command: Play) -> Any:
    """Check the model and numbers, and read the observations, which are returned."""
    if not 0 <= command.port <= 65535:
        raise ValueError(f"expected --port from 0 to 65535, got {command.port}")
    model_names(command.name)
    return None if command.observations is None else read_table(command.observations)


def check_train(command: Train) -> Any:
    """Check numbers, files, and the archive of an experiment or the table, which is returned."""
    counts = {"steps": command.steps, "batch_size": command.batch_size}
    counts |= {"checkpoint_every": command.checkpoint_every, "functions": command.functions}
    _validation.at_least(1, **{name: value for name, value in counts.items() if value is not None})
    _check_run(command)
    if Path(command.name).suffix:  # experiments have none
        return read_training_table(command)
    _refuse(command, ON_TABLES[Train], "an experiment")
    experiment = find(command.name)
    experiment.options(data=command.data, functions=command.functions, split=command.split)
    _check_there("data", command.data)
    return None


def check_distil(command: Distil) -> Any:
    """Check the model, numbers, and the archive of an experiment or the table, returned if any."""
    counts = {"steps": command.steps, "checkpoint_every": command.checkpoint_every}
    counts |= {} if command.batch_size is None else {"batch_size": command.batch_size}
    _validation.at_least(1, **counts)
    _validation.at_least(0, num_tasks=command.num_tasks)
    _validation.positive(peak_rate=command.peak_rate)
    _validation.not_negative(energy_weight=command.energy_weight)
    document = _model_files.document(_model_files.find(command.name))
    _check_run(command)
    if command.training_table:
        return read_student_table(command, document)
    _refuse(command, ("function",), "training functions of an experiment")
    name = command.experiment or document["metadata"].get("experiment", command.name)
    find(name).options(data=command.data)
    _check_there("data", command.data)
    return None


def check_evaluate(command: Evaluate) -> Any:
    """Check the model, numbers, and the archive of an experiment or the table, returned if any."""
    counts = {"num": command.num, "probes": command.probes}
    _validation.at_least(1, **{name: value for name, value in counts.items() if value is not None})
    _validation.one_of("route", command.route, ("conditional", "joint"))
    document = _model_files.document(_model_files.find(command.name))
    for other in command.against:
        _model_files.find(other)
    if command.test_table:
        return read_test_table(command, document)
    _refuse(command, ON_TABLES[Evaluate], "test functions of an experiment")
    _check_there("data", command.data)
    return None


def _check_run(command: Train | Distil) -> None:
    """Check that there is the model to start from, and that the folder can be written."""
    if command.start is not None:
        _model_files.find(command.start)
    _atomic_io.check_writable(Path(command.out) / "log.csv")


def _refuse(command: Any, options: tuple[str, ...], what: str) -> None:
    """Refuse options that only a table has."""
    for name in options:
        if getattr(command, name) != getattr(type(command), name):
            option = f"--{name.replace('_', '-')}"
            raise ValueError(
                f"expected {option} with a table of functions only, got it with {what}"
            )


def check_reproduce(command: Reproduce) -> None:
    """Check the table and files."""
    experiment(command.table)
    _validation.at_least(0, num=command.num)
    _check_there("results", command.results)
    if command.figures:  # maps alone need the archive
        _check_there("data", command.data)


def _check_there(option: str, path: str | None) -> None:
    if path is not None and not Path(path).exists():
        raise ValueError(f"expected a file or folder {path} for --{option}, got none")


ON_TABLES = {
    Train: (
        *("minutes", "function", "inputs", "outputs", "symmetry", "codomain", "representations"),
        *("covariates", "period", "noise", "groups", "ordered", "drop_missing", "simple_models"),
    ),
    Evaluate: ("function", "context", "forecast", "tasks", "against", "figure", "num_samples"),
}
"""Options of a command for tables alone."""

CHECKS = {
    Demo: check_demo,
    Play: check_play,
    Train: check_train,
    Distil: check_distil,
    Evaluate: check_evaluate,
    Reproduce: check_reproduce,
}
