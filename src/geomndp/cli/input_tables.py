"""Tables that a command reads: observations, and `--targets` as a file or as ranges; no JAX."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from geomndp import _model_files, _time_zones, _validation
from geomndp._table_files import check_output, is_file, is_frame, is_store, read_table
from geomndp.cli.needed_columns import (
    NOTED_FUNCTION,
    check_columns,
    check_observed,
    check_one_function,
)
from geomndp.cli.predict_args import Condition, Predict, check_interval
from geomndp.cli.target_ranges import MAX_TARGETS, numbers, typed_dates
from geomndp.cli.task_tables import read_tasks, zoned_inputs
from geomndp.cli.usage_errors import UsageError

POINT = "point"
"""Dimension of locations that lie on no grid."""


class Names(NamedTuple):
    """What a model calls its inputs and outputs."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


class Tables(NamedTuple):
    """Tables of a command, under the model's names."""

    observations: Any
    """DataFrame or Dataset; None where nothing is observed."""
    targets: Any
    """Dataset of the target locations."""
    zoned: bool
    """Whether datetimes of any of both have a time zone, and are therefore in UTC."""


def read_tables(command: Predict) -> Tables:
    """Check the arguments of a command and read its tables."""
    _validation.at_least(2 if command.summary else 1, num_samples=command.num_samples)
    _validation.one_of("dtype", command.dtype, ("float32", "float64"))
    if not all(0 < level < 1 for level in command.quantiles):
        raise ValueError(f"expected quantiles between 0 and 1, got {command.quantiles}")
    if command.interval is not None:
        check_interval(command)
    if command.steps is not None:
        _validation.at_least(1, steps=command.steps)
    conditioned = isinstance(command, Condition)
    table = _observations(command) if isinstance(command, Condition) else None
    names = model_names(command.name)
    renamed = parse_columns(command.columns, names)
    task = command.task_column if isinstance(command, Condition) else None
    meant = task != Condition.task_column or (isinstance(command, Condition) and command.tasks)
    if meant and task in (*names.inputs, *names.outputs):
        raise ValueError(f"expected --task-column beside the model's columns, got its {task!r}")
    if conditioned:
        table = rename(table, renamed)
        check_columns(table, (*names.inputs, *names.outputs))
        check_observed(table, names.outputs, str(command.tasks or command.observations))
        if command.tasks is None:
            check_one_function(table, _noted_function(command), command.observations)
    targets, zoned = read_targets(command.targets, names, renamed, task)
    observed_zoned = None if table is None else zoned_inputs(table, names.inputs)
    _time_zones.check_together("--targets", zoned, "the observations", observed_zoned)
    check_output(command.out)
    from_zoned = _time_zones.is_zoned(command.origin or "")
    return Tables(table, targets, bool(zoned or observed_zoned or from_zoned))


def _observations(command: Condition) -> Any:
    """Table of the observations, or of those of all tasks."""
    if command.tasks is not None:
        return read_tasks(command)
    if command.scheduler is not None and not is_store(command.out):
        raise UsageError("expected --tasks or --out FIELD.zarr with --scheduler, got neither")
    path = command.observations
    if not is_file(path) and (not path or not command.targets or ":" in path or "=" in path):
        # An option that takes any number of values leaves its last one to a missing argument.
        raise UsageError("expected OBSERVATIONS, a file, before --targets, got none")
    table = read_table(path, _noted_function(command))
    if is_frame(table) and not len(table):
        raise ValueError(
            f"expected at least one row in {path}, got none; geomndp sample needs no observations"
        )
    return table


def _noted_function(command: Condition) -> str | None:
    """Column that named functions when the model was trained."""
    return _model_files.metadata(command.name).get(NOTED_FUNCTION)


def model_names(model: str) -> Names:
    """Names of a model's columns, from its document alone."""
    variables = _model_files.document(_model_files.find(model)).get("variables")
    if variables is None:
        raise ValueError(
            f"expected a model that names its inputs and outputs, got {model}; "
            "save model.with_variables(inputs=..., outputs=...)"
        )
    try:
        names = [[str(v["name"]) for v in variables[part]] for part in ("inputs", "outputs")]
    except (KeyError, TypeError) as error:
        raise ValueError(f"expected names of inputs and outputs in {model}, got none") from error
    return Names(tuple(names[0]), tuple(names[1]))


def read_targets(
    ranges: tuple[str, ...], columns: Names, renamed: dict[str, str], task: str | None = None
) -> tuple[Any, bool | None]:
    """Dataset of the locations: those of a file, or the grid that ranges of the inputs span.

    The second is whether their datetimes have a time zone, None where that is not known.
    """
    if len(ranges) == 1 and is_file(ranges[0]):
        table = rename(read_table(ranges[0], task), renamed, strict=False)
        zoned = zoned_inputs(table, columns.inputs)
        return _as_dataset(table, columns) if is_frame(table) else table, zoned
    import xarray as xr

    names = columns.inputs
    spans = dict(_split_name(text, names) for text in ranges)
    if set(spans) != set(names) or len(spans) < len(ranges):
        example = " ".join(f"{name}=0:1:0.1" for name in names)
        got = " ".join(ranges) or "nothing"
        raise ValueError(f"expected --targets FILE or --targets {example}, got {got}")
    locations = {name: numbers(spans[name]) for name in names}
    # Typed dates without a zone count as UTC, as --origin does.
    zoned = any(_time_zones.is_zoned(end) for name in names for end in typed_dates(spans[name]))
    if np.prod([float(values.size) for values in locations.values()]) > MAX_TARGETS:
        raise ValueError(f"expected at most {MAX_TARGETS} targets, got more: {' '.join(ranges)}")
    return xr.Dataset(coords=locations), zoned or None


def parse_columns(columns: tuple[str, ...], names: Names) -> dict[str, str]:
    """The model's names by those of a file, from "lat=LAT"."""
    known = (*names.inputs, *names.outputs)
    renamed = {}
    for text in columns:
        name, equals, column = text.partition("=")
        if not equals or not column or name not in known:
            listed = ", ".join(known)
            raise ValueError(f"expected --columns NAME=COLUMN for {listed}, got {text!r}")
        renamed[column] = name
    return renamed


def rename(table: Any, renamed: dict[str, str], *, strict: bool = True) -> Any:
    """Give the model's names to the columns of a table; others of these names are dropped."""
    have = set(table.columns if is_frame(table) else table.variables)
    if missing := [name for name in renamed if name not in have]:
        if strict:
            listed = ", ".join(map(repr, sorted(map(str, have))))
            raise ValueError(f"expected a column {missing[0]!r} as --columns says, got {listed}")
        renamed = {old: new for old, new in renamed.items() if old in have}
    hidden = [name for name in renamed.values() if name in have and name not in renamed]
    if not is_frame(table):
        return table.drop_vars(hidden).rename(renamed)
    result = table.drop(columns=hidden).rename(columns=renamed)
    result.attrs = dict(table.attrs)
    for note in {"units", _time_zones.NOTE} & {*table.attrs}:
        by_name = table.attrs[note].items()
        result.attrs[note] = {renamed.get(name, name): value for name, value in by_name}
    return result


def _split_name(text: str, names: tuple[str, ...]) -> tuple[str, str]:
    name, equals, span = text.partition("=")
    if not equals and len(names) == 1:
        return names[0], text
    return name, span


def _as_dataset(frame: Any, columns: Names) -> Any:
    """Targets of a DataFrame: along its only input, or one after the other; others follow."""
    import xarray as xr

    names = columns.inputs
    if missing := [name for name in names if name not in frame]:
        listed = ", ".join(map(repr, frame.columns)) or "none"
        raise ValueError(f"expected a column {missing[0]!r} in --targets, got {listed}")
    if not len(frame):
        raise ValueError("expected at least one row in --targets, got none")
    dim = names[0] if len(names) == 1 else POINT
    units = frame.attrs.get("units", {})
    coords = {
        name: (
            dim,
            _time_zones.as_utc(frame[name]).to_numpy(),
            {"units": units[name]} if name in units else {},
        )
        for name in frame
        if name not in (*columns.outputs, "sample")
    }
    return xr.Dataset(coords=coords)
