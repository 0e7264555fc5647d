"""`geomndp reproduce`."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table

from geomndp import _checks, _shipped
from geomndp.cli.commands import Reproduce
from geomndp.experiments import table1d


def reproduce(command: Reproduce) -> None:
    """Print a table, write it as Markdown, and draw its figure."""
    _checks.one_of("table", command.table, ("regression1d",))
    console, out = Console(), Path(command.out)
    measured = {suite: _measure(suite, command.num) for suite in table1d.FOLDERS}
    out.mkdir(parents=True, exist_ok=True)
    for suite in table1d.FOLDERS:
        for region in table1d.REGIONS:
            console.print(_table(suite, region))
        path = out / f"regression1d-{suite}.md"
        path.write_text(table1d.markdown(suite), encoding="utf-8")
        console.print(f"table: {path}")
    for name, metrics in (pair for part in measured.values() for pair in part.items()):
        console.print(name, metrics)
    console.print(f"figure: {_figure(out)}")


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


def _figure(out: Path) -> Path:
    import matplotlib

    matplotlib.use("Agg")
    from geomndp.experiments.figure1d import figure1d

    return figure1d(out / "regression1d.png")
