"""`geomndp reproduce`: tables on the console and as Markdown, then their figures."""

from __future__ import annotations

import json
from pathlib import Path

from rich.console import Console
from rich.table import Table as RichTable

from geomndp import _atomic_io
from geomndp._progress import busy, each
from geomndp.cli.commands import Reproduce
from geomndp.experiments.registry import Experiment, Table, Unavailable, experiment

WIDTH = 160  # where the output is no terminal


def reproduce(command: Reproduce) -> None:
    """Print tables, write them as Markdown, and draw their figures."""
    entry, folder = experiment(command.table), Path(command.out)
    path = folder / f"{entry.name}.md"
    _atomic_io.check_writable(path)
    results = entry.read_results(command.results)
    tables = _tables(entry, results, command.results)
    if not tables and not command.num:
        anew = f"geomndp reproduce {entry.name} --num 64 --data FOLDER"
        raise ValueError(f"expected stored results of {entry.name}, got none; to measure: {anew}")
    console = console_of_tables()
    console.print(source(entry, command), soft_wrap=True, highlight=False)
    for table in tables:
        console.print(f"\n{table.title}", style="bold", soft_wrap=True, highlight=False)
        console.print(rich_table(table))
    text = "\n".join(f"## {table.title}\n\n{table.markdown()}" for table in tables)
    document = f"# {entry.title}\n\n{source(entry, command)}\n\n{text}"
    console.print(f"tables: {_atomic_io.write(path, document)}")
    if command.num:
        _measure(entry, command, folder / f"{entry.name}-measured.json", console)
    if command.figures:
        _draw(entry, results, folder, command.data, console)


def _measure(entry: Experiment, command: Reproduce, path: Path, console: Console) -> None:
    """Measure shipped models, or the sets of an experiment, anew; nothing stored is changed."""
    if entry.measure is not None:
        return _measure_sets(entry, command, folder=path.parent / entry.name, path=path)
    options = {"data": command.data} if "data" in entry.data_options else {}
    with busy("measuring"):
        measured = entry.measure_shipped(command.num, **options)
    for name, regions in measured.items():
        for region, metrics in regions.items():
            console.print(f"{name}, {region}:", metrics)
    text = json.dumps(measured, indent=1) + "\n"
    console.print(f"measured now: {_atomic_io.write(path, text)}")


def _measure_sets(entry: Experiment, command: Reproduce, *, folder: Path, path: Path) -> None:
    """Measure the sets of an experiment anew, with its tables of them; resumes in the folder."""
    console = console_of_tables()
    assert entry.measure is not None
    options = {} if command.minutes is None else {"minutes": command.minutes}
    measured = entry.measure(
        command.num,
        only=command.only,
        data=command.data,
        directory=folder,
        log=lambda text: console.print(text, highlight=False, soft_wrap=True),
        **options,
    )
    _atomic_io.write(path, json.dumps(measured, indent=1) + "\n")
    for table in entry.report(measured):
        console.print(f"\n{table.title}", style="bold", soft_wrap=True, highlight=False)
        console.print(rich_table(table))
    console.print(f"measured now: {path}")


def _draw(
    entry: Experiment, results: dict, folder: Path, data: str | None, console: Console
) -> None:
    try:
        for figure in each("drawing", entry.figures(results, folder, data)):
            console.print(f"figure: {figure}")
    except Unavailable as missing:
        console.print(f"no figures: {missing}")


def source(entry: Experiment, command: Reproduce) -> str:
    """Where the numbers come from, and how to measure them anew."""
    stored = "measured when the models shipped" if command.results is None else command.results
    if command.num:
        return f"Stored results ({stored}), then those measured now on {command.num} test functions"
    data = " [--data FOLDER]" if "data" in entry.data_options else ""
    anew = f"geomndp reproduce {command.table} --num 64{data}"
    return f"Stored results ({stored}), nothing is computed; to measure anew: {anew}"


def _tables(entry: Experiment, results: dict, path: str | None) -> list[Table]:
    try:
        return entry.report(results)
    except (LookupError, TypeError, AttributeError) as error:
        if path is None:
            raise
        got = f"{type(error).__name__} at {error}"
        raise ValueError(
            f"expected results of {entry.name} in {path}, got another layout: {got}"
        ) from error


def console_of_tables() -> Console:
    """A console wide enough for tables wherever the output goes."""
    console = Console(markup=False)  # brackets are units and names of files
    return console if console.is_terminal else Console(width=WIDTH, markup=False)


def rich_table(content: Table) -> RichTable:
    """The cells of a table for the console, numbers to the right."""
    table = RichTable()
    for number, name in enumerate(content.header):
        table.add_column(name, justify="right" if number else "left", no_wrap=not number)
    for row in content.rows:
        table.add_row(*row)
    return table
