"""`geomndp reproduce cyclones`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from geomndp import _pretrained
from geomndp.cli.commands import Reproduce
from geomndp.cli.tables import Report
from geomndp.data.ibtracs import VARIABLE, Split, cyclones, split_by_storm
from geomndp.experiments import results
from geomndp.experiments.cyclones import report as cyclones_report, table as cyclones_table
from geomndp.experiments.table import Table

MODEL = "cyclones/ibtracs"
TITLES = {"storms": "Splits by storm", "seasons": "Newest seasons held out"}


def report(command: Reproduce) -> Report:
    """Tables and, where there are tracks, maps."""
    missing = _missing(command.data)
    if command.num and missing:
        raise ValueError(f"expected a model and tracks to measure, got {missing}")
    tables, parts = _tables(command.results), None
    if (command.num or command.figures) and not missing:
        parts = split_by_storm(cyclones(command.data), _pretrained.metadata(MODEL).get("split", 0))
    if parts and command.num:
        tables += _measured(parts, command.num)
    figures = _figures(Path(command.out), parts) if parts else ()
    remark = f"no maps: {missing}" if command.figures and missing else ""
    heading = "Cyclones\n\nDistances in km, log-densities in nats by area."
    return Report(heading, tables, figures, {}, remark)


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
    if MODEL not in _pretrained.names():
        return f"no model {MODEL} in this package"
    if data is None and not os.environ.get(VARIABLE):
        return f"no tracks (give the archive as --data, or set {VARIABLE})"
    return ""


def _measured(parts: Split, num: int) -> list[Table]:
    """Both conditional tasks on `num` of the storms held out, without log-densities."""
    import jax.random as jr

    from geomndp.experiments.cyclones.experiment import measure
    from geomndp.experiments.cyclones.protocol import task
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
    from geomndp.experiments.cyclones.figures import fans_figure, tracks_figure
    from geomndp.model import load

    model = load(MODEL)
    yield tracks_figure(out / "cyclones_tracks.png", model, parts)
    yield fans_figure(out / "cyclones_fans.png", model, parts)
