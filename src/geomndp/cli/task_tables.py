"""Observations of many tasks, from a folder or a long table; no JAX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from geomndp import _time_zones
from geomndp._table_files import is_file, is_frame, is_store, read_table
from geomndp.cli.predict_args import Condition
from geomndp.cli.usage_errors import UsageError


def read_tasks(command: Condition) -> Any:
    """One table of all tasks, with their column."""
    import pandas as pd

    path, column = Path(str(command.tasks)), command.task_column
    if command.observations:
        got = command.observations
        raise UsageError(f"expected OBSERVATIONS or --tasks, got both: {got} and {path}")
    if command.out is None:
        raise UsageError("expected --out FILE with --tasks, got none")
    if command.patches is not None or is_store(command.out):
        raise UsageError("expected one field for --patches or a Zarr store, got --tasks")
    if not path.is_dir():
        table = _as_frame(read_table(str(path), column))
        if column not in table:
            listed = ", ".join(map(repr, table.columns))
            raise ValueError(
                f"expected a column {column!r} in {path} (--task-column), got {listed}"
            )
    else:
        files = sorted(file for file in path.iterdir() if is_file(str(file)))
        tables = [_as_frame(read_table(str(file))) for file in files]
        if not tables:
            raise ValueError(f"expected files of observations in {path}, got none")
        _check_files(files, tables)
        named = zip(tables, files, strict=True)
        table = pd.concat([t.assign(**{column: file.stem}) for t, file in named], ignore_index=True)
        table.attrs = {**tables[0].attrs, _time_zones.NOTE: _zoned_columns(tables)}
    if not len(table) or bool(np.any(table[column].isna())):
        raise ValueError(f"expected rows in {path}, each with its task in {column!r}")
    return table


def _check_files(files: list[Path], tables: list[Any]) -> None:
    """Refuse two files of one task, files of different units, and naive and zoned datetimes."""
    first: dict[str, Path] = {}
    for file, table in zip(files, tables, strict=True):
        if (other := first.setdefault(file.stem, file)) is not file:
            raise ValueError(f"expected one file per task, got {other.name} and {file.name}")
        zoned, others = (part.attrs.get(_time_zones.NOTE, {}) for part in (table, tables[0]))
        for name in {*zoned} & {*others}:
            where = f"{name!r} in {file.name}", f"{files[0].name}"
            _time_zones.check_together(where[0], zoned[name], where[1], others[name])
        units, known = (part.attrs.get("units", {}) for part in (table, tables[0]))
        if units != known:
            raise ValueError(
                f"expected the units of {files[0].name}, {known}, in {file.name}, got {units}"
            )


def _zoned_columns(tables: list[Any]) -> dict[str, bool | None]:
    """Whether columns of text files are zoned in all of them, None where some datetimes are."""
    states: dict[str, set[bool | None]] = {}
    for table in tables:
        for name, zoned in table.attrs.get(_time_zones.NOTE, {}).items():
            states.setdefault(name, set()).add(zoned)
    return {name: found.pop() if len(found) == 1 else None for name, found in states.items()}


def _as_frame(table: Any) -> Any:
    if is_frame(table):
        return table
    units = {
        str(n): str(v.attrs["units"]) for n, v in table.variables.items() if "units" in v.attrs
    }
    frame = table.to_dataframe().reset_index()
    zoned = {str(n): True for n, v in table.variables.items() if _time_zones.states_utc(v)}
    frame.attrs |= {"units": units, _time_zones.NOTE: zoned}
    return frame


def zoned_inputs(table: Any, inputs: tuple[str, ...]) -> bool | None:
    """Whether the datetimes among inputs have a time zone, None where that is not known."""
    if not is_frame(table):
        return _time_zones.dataset_is_zoned(table, inputs)
    present = {name: table[name] for name in inputs if name in table}
    return _time_zones.frame_is_zoned(table, present)
