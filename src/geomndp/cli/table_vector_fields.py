"""`geomndp reproduce vector-fields`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from geomndp.cli.commands import Reproduce
from geomndp.cli.tables import Report
from geomndp.experiments import results
from geomndp.experiments.vector_fields import (
    likelihood_table as table_fields,
    report as report_fields,
)


def report(command: Reproduce) -> Report:
    """Likelihoods and what was measured besides."""
    found = results.read(command.results or results.shipped(command.table))
    tables = [*table_fields.tables(), *report_fields.tables(found)]
    figures = _figures(Path(command.out), found)
    return Report("Vector fields", tables, figures, _measure(command.num))


def _measure(num: int) -> dict[str, dict]:
    """Measure the shipped models anew on `num` fields; nothing for zero."""
    if not num:
        return {}
    from geomndp.experiments.vector_fields.evaluate import score
    from geomndp.experiments.vector_fields.experiment import experiment
    from geomndp.model import load

    return {name: score(load(name), experiment(name), num=num) for name in table_fields.shipped()}


def _figures(out: Path, found: dict) -> Iterator[Path]:
    import matplotlib

    matplotlib.use("Agg")
    from geomndp.experiments.vector_fields.experiment import experiment
    from geomndp.experiments.vector_fields.figures import efficiency_figure, field_figure
    from geomndp.model import load

    if found.get("efficiency"):
        yield efficiency_figure(found["efficiency"], out / "vector-fields-efficiency.png")
    names = [f"{table_fields.FOLDER}/{name}" for name in table_fields.COLUMNS]
    models = {
        name.partition("/")[2]: (load(name), experiment(name).problem)
        for name in names
        if name in table_fields.shipped()
    }
    if models:
        yield field_figure(models, out / "vector-fields.png")
