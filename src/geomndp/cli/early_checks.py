"""What can be refused before JAX is imported, which takes seconds: files, names, ranges, counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from geomndp import _atomic_io, _pretrained, _validation
from geomndp.cli import table_files, target_locations
from geomndp.cli.commands import Demo, Evaluate, Reproduce, Train
from geomndp.cli.predict_args import Condition, Predict
from geomndp.cli.usage_errors import UsageError
from geomndp.experiments.registry import experiment, find


class Tables(NamedTuple):
    """Tables of a command, under the model's names."""

    observations: Any
    """DataFrame or Dataset; None where nothing is observed."""
    targets: Any
    """Dataset of the target locations."""


def read_tables(command: Predict) -> Tables:
    """Check the arguments of a command and read its tables."""
    _validation.at_least(2 if command.summary else 1, num_samples=command.num_samples)
    _validation.one_of("dtype", command.dtype, ("float32", "float64"))
    if not all(0 < level < 1 for level in command.quantiles):
        raise ValueError(f"expected quantiles between 0 and 1, got {command.quantiles}")
    if command.steps is not None:
        _validation.at_least(1, steps=command.steps)
    conditioned = isinstance(command, Condition)
    table = _observations(command) if conditioned else None
    names = _names(command.name)
    renamed = target_locations.parse_columns(command.columns, names)
    if conditioned:
        table = target_locations.rename(table, renamed)
        _check_columns(table, (*names.inputs, *names.outputs))
    targets = target_locations.read_targets(command.targets, names, renamed)
    if command.out is not None:
        table_files.check_output(command.out)
    return Tables(table, targets)


def check_demo(command: Demo) -> None:
    """Check numbers and the page."""
    _validation.at_least(2, num_samples=command.num_samples)
    _validation.at_least(0, steps=command.steps)
    _atomic_io.check_writable(Path(command.out) / "demo.html")


def check_train(command: Train) -> None:
    """Check numbers and the archive."""
    counts = {"steps": command.steps, "batch_size": command.batch_size}
    counts |= {"checkpoint_every": command.checkpoint_every, "functions": command.functions}
    _validation.at_least(1, **{name: value for name, value in counts.items() if value is not None})
    experiment = find(command.name)
    experiment.options(data=command.data, functions=command.functions, split=command.split)
    _check_there("data", command.data)


def check_evaluate(command: Evaluate) -> None:
    """Check the model, the archive and numbers."""
    _validation.at_least(1, num=command.num)
    _validation.one_of("route", command.route, ("conditional", "joint"))
    if command.probes is not None:
        _validation.at_least(1, probes=command.probes)
    _pretrained.document(_pretrained.find(command.name))
    _check_there("data", command.data)


def check_reproduce(command: Reproduce) -> None:
    """Check the table and files."""
    experiment(command.table)
    _validation.at_least(0, num=command.num)
    _check_there("results", command.results)
    if command.figures:  # maps alone need the archive
        _check_there("data", command.data)


def _observations(command: Condition) -> Any:
    path = command.observations
    if not table_files.is_file(path) and (not command.targets or ":" in path or "=" in path):
        # An option that takes any number of values leaves its last one to a missing argument.
        raise UsageError("expected OBSERVATIONS, a file, before --targets, got none")
    table = table_files.read_table(path)
    if table_files.is_frame(table) and not len(table):
        raise ValueError(
            f"expected at least one row in {path}, got none; geomndp sample needs no observations"
        )
    return table


def _names(model: str) -> target_locations.Names:
    """Names of a model's columns, from its document alone."""
    variables = _pretrained.document(_pretrained.find(model)).get("variables")
    if variables is None:
        raise ValueError(
            f"expected a model that names its inputs and outputs, got {model}; "
            "save model.with_variables(inputs=..., outputs=...)"
        )
    try:
        names = [[str(v["name"]) for v in variables[part]] for part in ("inputs", "outputs")]
    except (KeyError, TypeError) as error:
        raise ValueError(f"expected names of inputs and outputs in {model}, got none") from error
    return target_locations.Names(tuple(names[0]), tuple(names[1]))


def _check_columns(table: Any, names: tuple[str, ...]) -> None:
    """Refuse a table that lacks a column, or a level of its index."""
    if table_files.is_frame(table):
        names_present, what = [*table.columns, *table.index.names], "column"
    else:
        names_present, what = list(table.variables), "variable or coordinate"
    if missing := [name for name in names if name not in names_present]:
        listed = ", ".join(repr(name) for name in names_present if name is not None) or "none"
        raise ValueError(f"expected a {what} {missing[0]!r}, got {listed}")


def _check_there(option: str, path: str | None) -> None:
    if path is not None and not Path(path).exists():
        raise ValueError(f"expected a file or folder {path} for --{option}, got none")


CHECKS = {
    Demo: check_demo,
    Train: check_train,
    Evaluate: check_evaluate,
    Reproduce: check_reproduce,
}
