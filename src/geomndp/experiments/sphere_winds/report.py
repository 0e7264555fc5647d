"""Tables of the models of winds, from their cards; no JAX."""

from __future__ import annotations

from geomndp import _model_files
from geomndp.experiments.card_rows import card_metrics
from geomndp.experiments.sphere_winds.experiment import MODELS, REGIONS
from geomndp.experiments.table import Table, pair

REFERENCE = (
    ("Hodge GP, test times", "200", "-5.109 ± 0.022", "4.86", "0.90"),
    ("Hodge GP, test times", "50", "-5.349 ± 0.022", "5.64", "0.90"),
)
"""The reference beside the data: 33 analyses of April and May 2026."""


def report(results: dict) -> list[Table]:
    """The reference, then shipped models on validation times."""
    header = ("", "stations", "log-likelihood", "RMSE, m/s", "90% coverage")
    tables = [Table("Winds: reference, nats per point", header, list(REFERENCE))]
    rows = []
    for name in (name for name in _model_files.names() if name in MODELS):
        for region in REGIONS:
            metrics = card_metrics(name, region)
            if metrics:
                pairs = (pair(metrics[key], 3) for key in ("log_prob", "gp", "regret"))
                keys = ("rmse", "gp_rmse", "crps", "energy_score", "coverage")
                cells = (f"{metrics[key]:.3f}" for key in keys)
                rows.append((name, str(metrics["stations"]), *pairs, *cells))
    header = ("model", "stations", "log-likelihood", "Hodge GP", "lost to it", "RMSE, m/s")
    header += ("of the Hodge GP", "CRPS", "energy score", "90% coverage")
    return [*tables, Table("Winds: validation times", header, rows)] if rows else tables
