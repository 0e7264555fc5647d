"""`geomndp reproduce cyclones`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from geomndp import _shipped
from geomndp.cli.commands import Reproduce
from geomndp.cli.progress import busy, each
from geomndp.cli.tables import console_of_tables, shown, write_document
from geomndp.data.ibtracs import VARIABLE, Split, cyclones, split_by_storm
from geomndp.experiments import cyclones_report, cyclones_table, results
from geomndp.experiments.report import Table, markdown

MODEL = "cyclones/ibtracs"
TITLES = {"storms": "Splits by storm", "seasons": "Newest seasons held out"}


def reproduce(command: Reproduce) -> None:
    """Print tables, write them as Markdown and, where there are tracks, draw maps."""
    console, out = console_of_tables(), Path(command.out)
    missing = _missing(command.data)
    if command.num and missing:
        raise ValueError(f"expected a model and tracks to measure, got {missing}")
    tables, parts = _tables(command.results), None
    if (command.num or command.figures) and not missing:
        parts = split_by_storm(cyclones(command.data), _shipped.metadata(MODEL).get("split", 0))
    if parts and command.num:
        with busy("measuring"):
            tables += _measured(parts, command.num)
    document = ["# Cyclones", "Distances in km, log-densities in nats by area.", ""]
    for table in tables:
        console.print(shown(table))
        document.append(markdown(table))
    console.print(f"tables: {write_document(out / 'cyclones.md', document)}")
    if command.figures and missing:
        console.print(f"no maps: {missing}")
    figures = _figures(out, parts) if parts and command.figures else ()
    for figure in each("drawing", figures):
        console.print(f"figure: {figure}")


def _tables(path: str | None) -> list[Table]:
    made, found = [], results.read(results.shipped("cyclones") if path is None else path)
    for split, title in TITLES.items():
        rows = cyclones_table.from_json(found.get(split, []))
        rows += cyclones_table.published() if split == "storms" else []
        made += cyclones_report.tables(rows, title)
    training = cyclones_report.training()
    return [*made, training] if training.rows else made


def _missing(data: str | None) -> str:
    """Which of model and tracks is not there; nothing if both are."""
    if MODEL not in _shipped.names():
        return f"no model {MODEL} in this package"
    if data is None and not os.environ.get(VARIABLE):
        return f"no tracks (give the archive as --data, or set {VARIABLE})"
    return ""


def _measured(parts: Split, num: int) -> list[Table]:
    """Both conditional tasks on `num` of the storms held out, without log-densities."""
    import jax.random as jr

    from geomndp.experiments.cyclones import measure
    from geomndp.experiments.cyclones_protocol import task
    from geomndp.model import load

    some = Split(parts.train, parts.test.spread(num))
    model, rows = load(MODEL), []
    for name in cyclones_table.TASKS[1:]:
        found = measure(model, task(name), some, key=jr.key(0), density=False)
        rows.append(cyclones_table.Row(MODEL, name, (found,)))
    return cyclones_report.tables(rows, f"Measured now, {len(some.test)} storms")


def _figures(out: Path, parts: Split) -> Iterator[Path]:
    import matplotlib

    matplotlib.use("Agg")
    from geomndp.experiments.figure_cyclones import fans_figure, tracks_figure
    from geomndp.model import load

    model = load(MODEL)
    yield tracks_figure(out / "cyclones_tracks.png", model, parts)
    yield fans_figure(out / "cyclones_fans.png", model, parts)
