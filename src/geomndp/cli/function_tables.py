"""Tables of many functions, to train on or to evaluate on: read and checked without JAX."""

from __future__ import annotations

from typing import Any

from geomndp import _atomic_io, _validation
from geomndp._table_files import is_file, is_frame, read_table
from geomndp._text_columns import DATE
from geomndp.cli.commands import Evaluate, Train
from geomndp.cli.distil_args import Distil
from geomndp.cli.input_tables import model_names
from geomndp.cli.needed_columns import NOTED_FUNCTION, check_columns

FUNCTION = "function"
OF_EXPERIMENTS = ("data", "split", "functions")


def read_training_table(command: Train) -> Any:
    """Check the options of a training on a table, and read it."""
    for name in OF_EXPERIMENTS:
        if getattr(command, name) is not None:
            raise ValueError(f"expected --{name} with an experiment only, got it with a table")
    if command.minutes is not None:
        _validation.positive(minutes=command.minutes)
        if command.steps is not None:
            raise ValueError("expected --steps or --minutes, got both")
    if command.steps is None and command.peak_rate is not None:
        raise ValueError("expected --steps with --peak-rate, got none")
    periods(command.period)
    noise_columns(command.noise)
    if command.simple_models and (command.start is not None or command.noise):
        raise ValueError("expected --simple-models without --start and --noise, got both")
    if command.start is not None:
        _check_start(command)
    function = command.function or FUNCTION
    table = read_table(command.name, function, command.groups)
    if is_frame(table):
        if not command.inputs and command.start is None:
            listed = ", ".join(map(repr, table.columns))
            raise ValueError(f"expected --inputs, columns of {command.name} ({listed}), got none")
        if not len(table):
            raise ValueError(f"expected at least one row in {command.name}, got none")
    groups = [command.groups] if command.groups else []
    columns = (*command.inputs, *command.outputs, *command.covariates, *groups)
    _check_functions(table, function, columns)
    if is_frame(table) and command.steps is None:
        _check_several(table[function], function)
    if is_frame(table) and command.ordered and table[function].astype(str).str.match(DATE).any():
        raise ValueError(
            f"expected --ordered with labels in order of time, got dates as text in {function!r}; "
            "write 2024-08-30"
        )
    return table


def _check_several(labels: Any, function: str) -> None:
    """Refuse one function, and points each of which is one: nothing could be held out, or given."""
    if (number := labels.nunique()) == 1:
        raise ValueError(
            f"expected many functions, got one value of {function!r}; a column of days, weeks or "
            "the like would make many of one long record"
        )
    if number == len(labels):
        raise ValueError(
            f"expected functions of several points, got one row for every value of {function!r}; "
            "--function names the column that says which rows belong together"
        )


def _check_functions(table: Any, function: str, columns: tuple[str, ...]) -> None:
    """Refuse a table that lacks a column; functions are a dimension of a Dataset."""
    check_columns(table, (function, *columns) if is_frame(table) else columns)


FIXED_BY_START = ("inputs", "outputs", "symmetry", "codomain", "representations", "covariates")
FIXED_BY_START += ("period", "noise", "compute_dtype", "minutes")


def _check_start(command: Train) -> None:
    """Refuse a start without names, and options that the start has decided."""
    names = model_names(command.start or "")
    for option in FIXED_BY_START:
        given = getattr(command, option)
        known = getattr(names, option, None)
        if given not in (None, (), known):
            said = f"--{option.replace('_', '-')}"
            raise ValueError(f"expected {said} as the start has it, got {given!r}")
    if command.steps is None:
        raise ValueError("expected --steps with --start, got none")


def read_test_table(command: Evaluate, document: dict[str, Any]) -> Any:
    """Check the options of an evaluation on a table, and read it."""
    _validation.at_least(2, num_samples=command.num_samples)
    _validation.at_least(0, **{f"context {number}": c for number, c in enumerate(command.context)})
    if not is_file(command.test_table):
        raise ValueError(f"expected a table (.csv, .parquet, .nc), got {command.test_table!r}")
    if command.experiment is not None or command.region is not None or command.data is not None:
        raise ValueError("expected --experiment, --region and --data without a table, got both")
    if command.figure is not None:
        if not command.against:
            raise ValueError("expected --against MODEL for a --figure, got none")
        _atomic_io.check_writable(command.figure)
    function, names = function_column(command, document["metadata"]), model_names(command.name)
    table = read_table(command.test_table, function)
    for other in command.against:
        if model_names(other) != names:
            raise ValueError(f"expected --against models of the same columns, got {other}")
    _check_functions(table, function, (*names.inputs, *names.outputs))
    return table


def read_student_table(command: Distil, document: dict[str, Any]) -> Any:
    """Check the options of a distillation on a table, and read it."""
    if not is_file(command.training_table):
        raise ValueError(f"expected a table (.csv, .parquet, .nc), got {command.training_table!r}")
    for option in ("experiment", "data", "batch_size"):
        if getattr(command, option) is not None:
            said = f"--{option.replace('_', '-')}"
            raise ValueError(f"expected {said} with an experiment only, got it with a table")
    function, names = function_column(command, document["metadata"]), model_names(command.name)
    table = read_table(command.training_table, function)
    _check_functions(table, function, (*names.inputs, *names.outputs))
    return table


def function_column(command: Evaluate | Distil, notes: dict[str, Any]) -> str:
    """Column of functions: as the command says, or as the training noted it."""
    return command.function or str(notes.get(NOTED_FUNCTION, FUNCTION))


def periods(texts: tuple[str, ...]) -> dict[str, float]:
    """Periods by input, from "day=365"."""
    found = {}
    for text in texts:
        name, _, number = text.partition("=")
        try:
            found[name] = float(number)
            _validation.positive(period=found[name])
        except ValueError:
            raise ValueError(f"expected --period INPUT=NUMBER, got {text!r}") from None
    return found


def noise_columns(texts: tuple[str, ...]) -> Any:
    """Noise of training values: None, a number, a column, or columns by output."""
    if not texts:
        return None
    pairs = [text.partition("=") for text in texts]
    if all(equals for _, equals, _ in pairs):
        return {name: column for name, _, column in pairs}
    if len(texts) > 1:
        raise ValueError(f"expected --noise OUTPUT=COLUMN for several, got {' '.join(texts)}")
    text = "".join(texts)
    try:
        return float(text)
    except ValueError:
        return text
