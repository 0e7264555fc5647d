"""`geomndp reproduce vector-fields`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from geomndp.cli.commands import Reproduce
from geomndp.cli.progress import busy, each
from geomndp.cli.tables import console_of_tables, shown, write_document
from geomndp.experiments import report_fields, results, table_fields
from geomndp.experiments.report import markdown


def reproduce(command: Reproduce) -> None:
    """Print tables, write them as Markdown, and draw their figures."""
    console, out = console_of_tables(), Path(command.out)
    found = results.read(command.results or results.shipped(command.table))
    document = ["# Vector fields", ""]
    for table in (*table_fields.tables(), *report_fields.tables(found)):
        console.print(shown(table))
        document.append(markdown(table))
    with busy("measuring"):
        measured = _measure(command.num)
    for name, metrics in measured.items():
        console.print(name, metrics)
        document.append(f"- {name}, measured now: {metrics}")
    console.print(f"tables: {write_document(out / 'vector-fields.md', document)}")
    if command.figures:
        for figure in each("drawing", _figures(out, found)):
            console.print(f"figure: {figure}")


def _measure(num: int) -> dict[str, dict]:
    """Measure the shipped models anew on `num` fields; nothing for zero."""
    if not num:
        return {}
    from geomndp.experiments.score_fields import score
    from geomndp.experiments.vector_fields import experiment
    from geomndp.model import load

    return {name: score(load(name), experiment(name), num=num) for name in table_fields.shipped()}


def _figures(out: Path, found: dict) -> Iterator[Path]:
    import matplotlib

    matplotlib.use("Agg")
    from geomndp.experiments.figure_fields import efficiency_figure, field_figure
    from geomndp.experiments.vector_fields import experiment
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
