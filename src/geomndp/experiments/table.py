"""Tables as cells of text, for every experiment; no JAX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Table(NamedTuple):
    """Cells ready to print."""

    title: str
    header: tuple[str, ...]
    rows: list[tuple[str, ...]]


def markdown(table: Table) -> str:
    """A table with its title, as Markdown."""
    lines = [f"## {table.title}", "", "| " + " | ".join(table.header) + " |"]
    lines.append("|---" * len(table.header) + "|")
    lines += ["| " + " | ".join(row) + " |" for row in table.rows]
    return "\n".join(lines) + "\n"


def pair(value: Sequence[float | int | None] | None, digits: int = 4) -> str:
    """Mean and standard error; nothing where there is none."""
    if value is None:
        return ""
    mean, error = value
    text = f"{mean:.{digits}f}"
    return text if error is None else f"{text} ± {error:.{digits}f}"
