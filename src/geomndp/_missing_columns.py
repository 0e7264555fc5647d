"""Columns that a table must have, and how it gets them; neither pandas nor xarray is imported."""

from __future__ import annotations

from typing import Any

MIN_WIDE = 4
"""Fewest columns without a name of their own that may be the points of a function."""
LISTED = 10
LEVELS = "levels"
"""Entry of `frame.attrs`: columns that are levels of the index in the file."""


def check_frame_columns(frame: Any, names: tuple[str, ...]) -> None:
    """Refuse a DataFrame that lacks a column, or a level of its index.

    Args:
        frame: The DataFrame.
        names: Columns that it must have.

    Raises:
        ValueError: If one is missing; where several are and there are many others instead, with the
            call that makes rows of them.
    """
    present = [name for name in (*frame.columns, *frame.index.names) if name is not None]
    missing = [name for name in dict.fromkeys(names) if name not in present]
    if missing:
        raise ValueError(_without(present, missing, [name for name in present if name in names]))


def _without(present: list[Any], missing: list[str], found: list[Any]) -> str:
    """Say which column is missing, and what the table looks like instead."""
    if len(present) == 1 < len(missing) and all(name in str(present[0]) for name in missing):
        return f"expected commas, semicolons or tabs between columns, got one column {present[0]!r}"
    if present and not any(letter.isalpha() for name in present for letter in str(name)):
        return (
            f"expected a line of names such as {missing[0]!r} above the numbers, got "
            f"{present[0]!r} for a name (lines that begin with # are left out)"
        )
    listed = [repr(name) for name in present]
    if len(listed) > LISTED:
        listed[LISTED - 1 : -1] = ["..."]
    said = f"expected a column {missing[0]!r}, got {', '.join(listed) or 'none'}"
    wide = len(present) - len(found) >= max(MIN_WIDE, len(present) / 2)
    if not (found and wide and len(missing) > 1):
        return said
    return (
        f"{said}; of columns for points or functions make rows (pandas: table.melt("
        f"id_vars={found}, var_name={missing[0]!r}, value_name={missing[1]!r}))"
    )


def check_variables(dataset: Any, names: tuple[str, ...]) -> None:
    """Refuse a Dataset that lacks a variable or coordinate.

    Args:
        dataset: The Dataset.
        names: Variables that it must have.

    Raises:
        ValueError: If one is missing.
    """
    for name in names:
        if name not in dataset.variables:
            listed = ", ".join(map(repr, dataset.variables)) or "none"
            bare = name in dataset.dims
            hint = f"; give the dimension numbers: assign_coords({name}=...)" if bare else ""
            raise ValueError(f"expected a variable or coordinate {name!r}, got {listed}{hint}")
