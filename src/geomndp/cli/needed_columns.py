"""Columns that a command needs: that they are there, that something of one function is observed."""

from __future__ import annotations

import functools
import operator
from typing import Any

from geomndp._missing_columns import check_frame_columns, check_variables
from geomndp._table_files import is_frame

NOTED_FUNCTION = "function"
"""Key of a model's metadata that holds the name of the column of functions."""


def check_columns(table: Any, names: tuple[str, ...]) -> None:
    """Refuse a table that lacks a column, a level of its index, or a variable."""
    if is_frame(table):
        check_frame_columns(table, names)
    else:
        check_variables(table, names)


def check_observed(table: Any, outputs: tuple[str, ...], path: str) -> None:
    """Refuse observations all of which are missing: a column that was not written, or misread."""
    if all(bool(table[name].isnull().all()) for name in outputs):
        listed = ", ".join(map(repr, outputs))
        raise ValueError(
            f"expected an observed value of {listed} in {path}, got none; geomndp sample needs no "
            "observations"
        )


def check_one_function(table: Any, column: str | None, path: str) -> None:
    """Refuse rows of several training functions, which would be taken for values of one."""
    if not is_frame(table) or column not in table:
        return
    if (number := table[column].nunique(dropna=False)) > 1:
        raise ValueError(
            f"expected observations of one function in {path}, got {number} values of {column!r}; "
            f"--tasks {path} --task-column {column} --out FILE predicts each by itself"
        )


def drop_missing(table: Any, outputs: tuple[str, ...]) -> Any:
    """Make all outputs of a row missing where one is: such rows are no observations."""
    columns = [table[name] for name in outputs if name in table]
    known = functools.reduce(operator.and_, [column.notnull() for column in columns], True)
    return table.assign(**{str(column.name): column.where(known) for column in columns})
