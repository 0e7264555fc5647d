"""`geomndp reproduce`: tables on the console and as Markdown, then their figures."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table as RichTable

from geomndp import _atomic_io, _validation
from geomndp._progress import busy, each
from geomndp.cli.commands import Reproduce
from geomndp.experiments.table import Table, markdown

TABLES = {
    "regression1d": "table_regression1d",
    "cyclones": "table_cyclones",
    "vector-fields": "table_vector_fields",
}
"""Modules of `geomndp.cli`; each has a function `report(command)`."""
WIDTH = 160  # where the output is no terminal


class Report(NamedTuple):
    """What there is to say of an experiment; figures are drawn when asked for one by one."""

    heading: str
    tables: list[Table]
    figures: Iterable[Path]
    measured: dict[str, dict]
    """Metrics by model, where they were measured anew."""
    remark: str = ""


def reproduce(command: Reproduce) -> None:
    """Print tables, write them as Markdown, and draw their figures."""
    _validation.one_of("table", command.table, tuple(TABLES))
    path = Path(command.out) / f"{command.table}.md"
    _atomic_io.check_writable(path)
    console = console_of_tables()
    console.print(source(command), soft_wrap=True, highlight=False)
    with busy("measuring"):
        report = _report(command)
    for table in report.tables:
        console.print(f"\n{table.title}", style="bold", soft_wrap=True, highlight=False)
        console.print(shown(table))
    for name, metrics in report.measured.items():
        console.print(name, metrics)
    notes = [f"- {name}, measured now: {found}" for name, found in report.measured.items()]
    document = [
        f"# {report.heading}",
        "",
        source(command),
        "",
        *map(markdown, report.tables),
        *notes,
    ]
    text = "\n".join(document)
    console.print(f"tables: {_atomic_io.write(path, text)}")
    if report.remark:
        console.print(report.remark)
    for figure in each("drawing", report.figures if command.figures else ()):
        console.print(f"figure: {figure}")


def source(command: Reproduce) -> str:
    """Where the numbers come from, and how to measure them anew."""
    stored = "measured when the models shipped" if command.results is None else command.results
    if command.num:
        return f"Stored results ({stored}), then those measured now on {command.num} test functions"
    anew = f"geomndp reproduce {command.table} --num 64"
    return f"Stored results ({stored}), nothing is computed; to measure anew: {anew}"


def _report(command: Reproduce) -> Report:
    module = importlib.import_module(f"geomndp.cli.{TABLES[command.table]}")
    try:
        return module.report(command)
    except (LookupError, TypeError, AttributeError) as error:
        if command.results is None:
            raise
        got = f"{type(error).__name__} at {error}"
        raise ValueError(
            f"expected results of {command.table} in {command.results}, got another layout: {got}"
        ) from error


def console_of_tables() -> Console:
    """A console wide enough for tables wherever the output goes."""
    console = Console()
    return console if console.is_terminal else Console(width=WIDTH)


def shown(content: Table) -> RichTable:
    """The cells of a table for the console, numbers to the right."""
    table = RichTable()
    for number, name in enumerate(content.header):
        table.add_column(name, justify="right" if number else "left", no_wrap=not number)
    for row in content.rows:
        table.add_row(*row)
    return table
