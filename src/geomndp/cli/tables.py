"""`geomndp reproduce`: which module makes which table, and what they share."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.table import Table as RichTable

from geomndp import _checks, _files
from geomndp.cli.commands import Reproduce
from geomndp.experiments.report import Table

TABLES = {
    "regression1d": "table_regression1d",
    "cyclones": "table_cyclones",
    "vector-fields": "table_vector_fields",
}
"""Modules of `geomndp.cli`; each has a function `reproduce(command)`."""
WIDTH = 160  # where the output is no terminal


def reproduce(command: Reproduce) -> None:
    """Print tables, write them as Markdown, and draw their figures."""
    _checks.one_of("table", command.table, tuple(TABLES))
    importlib.import_module(f"geomndp.cli.{TABLES[command.table]}").reproduce(command)


def console_of_tables() -> Console:
    """A console wide enough for tables wherever the output goes."""
    console = Console()
    return console if console.is_terminal else Console(width=WIDTH)


def shown(content: Table) -> RichTable:
    """A table for the console."""
    table = RichTable(title=content.title)
    for name in content.header:
        table.add_column(name)
    for row in content.rows:
        table.add_row(*row)
    return table


def write_document(path: Path, parts: Iterable[str]) -> Path:
    """Write Markdown."""
    return _files.write(path, "\n".join(parts))
