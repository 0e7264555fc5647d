"""Tables of the laws of winds, from stored results; no JAX."""

from __future__ import annotations

from geomndp.experiments.sphere_winds.experiment import REGIONS
from geomndp.experiments.table import Table, pair

TITLES = {
    "test": "Winds: 33 analyses of April and May 2026 (test)",
    "validation": "Winds: 25 fields of July and August 2026 (validation)",
}
NUMBERS = ("rmse", "crps", "energy_score", "coverage")


def report(results: dict) -> list[Table]:
    """A table for the test times and one for the validation times, where there are results."""
    tables = [split_table(title, results.get(split, {})) for split, title in TITLES.items()]
    return [table for table in tables if table.rows]


def split_table(title: str, laws: dict[str, dict[str, dict]]) -> Table:
    """Rows of all laws by the number of stations.

    Args:
        title: Title of the table.
        laws: Law -> number of stations -> metrics.
    """
    rows = []
    for stations in map(str, REGIONS.values()):
        for law, metrics in (
            (law, part[stations]) for law, part in laws.items() if stations in part
        ):
            gain, error = metrics["regret"]
            cells = (f"{metrics[key]:.3f}" if key in metrics else "" for key in NUMBERS)
            row = (
                law,
                stations,
                pair(metrics["log_prob"], 3),
                pair([0.0 - gain, error], 3),
                *cells,
            )
            rows.append(row)
    header = ("law", "stations", "nats per point", "gain over the Hodge GP", "RMSE, m/s")
    return Table(title, (*header, "CRPS", "energy score", "90% coverage"), rows)
