"""`geomndp reproduce regression1d`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.table import Table

from geomndp import _shipped
from geomndp.cli.commands import Reproduce
from geomndp.cli.progress import busy, each
from geomndp.cli.tables import console_of_tables, shown, write_document
from geomndp.experiments import report1d, results, table1d
from geomndp.experiments.report import markdown


def reproduce(command: Reproduce) -> None:
    """Print tables, write them as Markdown, and draw their figures."""
    console, out = console_of_tables(), Path(command.out)
    found = results.read(command.results or results.shipped(command.table))
    with busy("measuring"):
        measured = {suite: _measure(suite, command.num) for suite in table1d.FOLDERS}
    document = ["# 1D regression", "Log-likelihood, nats per target.", ""]
    for suite in table1d.FOLDERS:
        for region in table1d.REGIONS:
            console.print(_table(suite, region))
        document.append(table1d.markdown(suite))
    for table in report1d.tables(found):
        console.print(shown(table))
        document.append(markdown(table))
    for name, metrics in (pair for part in measured.values() for pair in part.items()):
        console.print(name, metrics)
        document.append(f"- {name}, measured now: {metrics}")
    console.print(f"tables: {write_document(out / 'regression1d.md', document)}")
    if command.figures:
        for figure in each("drawing", _figures(out, found)):
            console.print(f"figure: {figure}")


def _table(suite: str, region: str) -> Table:
    table = Table(title=f"suite {suite}, {region}: log-likelihood, nats per target")
    table.add_column("")
    for name in table1d.COLUMNS:
        table.add_column(name, justify="right")
    for row in table1d.rows(suite, region):
        table.add_row(row.label, *row.cells)
    return table


def _measure(suite: str, num: int) -> dict:
    """Measure the suite's shipped models anew on `num` functions; nothing for zero."""
    if not num:
        return {}
    from geomndp.experiments.regression1d import experiment
    from geomndp.experiments.score1d import score
    from geomndp.model import load

    names = [n for n in _shipped.names() if n.startswith(table1d.FOLDERS[suite] + "/")]
    return {
        f"{name} {region}": score(load(name), experiment(name), num=num, region=region, probes=8)
        for name in names
        for region in table1d.REGIONS
    }


def _figures(out: Path, found: dict) -> Iterator[Path]:
    import matplotlib

    matplotlib.use("Agg")
    from geomndp.experiments.calibration1d import calibration_figure
    from geomndp.experiments.figure1d import curve_figure, figure1d

    histograms = {
        f"{name.partition('/')[2]}, {region}": part
        for name, regions in found.get("calibration", {}).items()
        for region, part in regions.items()
    }
    if histograms:
        yield calibration_figure(histograms, out / "regression1d-calibration.png")
    if found.get("curve"):
        yield curve_figure(found["curve"], out / "regression1d-curve.png")
    for suite in table1d.FOLDERS:
        if table1d.shipped(suite):
            yield figure1d(out / f"regression1d-{suite}.png", suite=suite)
