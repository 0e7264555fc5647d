"""`geomndp reproduce regression1d`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from geomndp import _pretrained
from geomndp.cli.commands import Reproduce
from geomndp.cli.tables import Report
from geomndp.experiments import results
from geomndp.experiments.regression1d import likelihood_table as table1d, report as report1d


def report(command: Reproduce) -> Report:
    """Both suites and what was measured besides."""
    found = results.read(command.results or results.shipped(command.table))
    tables = [table for suite in table1d.FOLDERS for table in table1d.tables(suite)]
    measured: dict[str, dict] = {}
    for suite in table1d.FOLDERS:
        measured |= _measure(suite, command.num)
    figures = _figures(Path(command.out), found)
    return Report("1D regression", [*tables, *report1d.tables(found)], figures, measured)


def _measure(suite: str, num: int) -> dict:
    """Measure the suite's shipped models anew on `num` functions; nothing for zero."""
    if not num:
        return {}
    from geomndp.experiments.regression1d.evaluate import score
    from geomndp.experiments.regression1d.experiment import experiment
    from geomndp.model import load

    names = [n for n in _pretrained.names() if n.startswith(table1d.FOLDERS[suite] + "/")]
    return {
        f"{name} {region}": score(load(name), experiment(name), num=num, region=region, probes=8)
        for name in names
        for region in table1d.REGIONS
    }


def _figures(out: Path, found: dict) -> Iterator[Path]:
    import matplotlib

    matplotlib.use("Agg")
    from geomndp.experiments.regression1d.calibration import calibration_figure
    from geomndp.experiments.regression1d.figures import curve_figure, figure1d

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
