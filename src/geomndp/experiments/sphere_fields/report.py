"""Tables of the models of fields on the sphere, from their cards and stored results; no JAX."""

from __future__ import annotations

from geomndp import _model_files
from geomndp.experiments.card_rows import card_metrics
from geomndp.experiments.sphere_fields.experiment import MODELS, REGIONS
from geomndp.experiments.sphere_fields.reference import EXACT
from geomndp.experiments.table import Table, pair


def report(results: dict) -> list[Table]:
    """Expected numbers of the exact process, then every table for which there are results."""
    candidates = [likelihoods(), regrets(), physics(results.get("physics", {}))]
    return [expected(), *(table for table in candidates if table.rows)]


def expected() -> Table:
    """Exact process in closed form: expectations over values, mean over 200 random contexts."""
    header = ("law", "lengthscale", "exact GP", "diagonal GP")
    rows = [
        (field, f"{lengthscale:g}", f"{joint:.3f}", f"{diagonal:.2f}")
        for (field, lengthscale), (joint, diagonal) in EXACT.items()
    ]
    return Table("Exact process, nats per point given 25 others", header, rows)


def _shipped() -> list[str]:
    return [name for name in _model_files.names() if name in MODELS]


def likelihoods() -> Table:
    """Log-likelihood of every shipped model at the test points, and what it loses."""
    rows = []
    for name in _shipped():
        metrics = card_metrics(name, REGIONS[0])
        if metrics:
            cells = (pair(metrics[key], 3) for key in ("log_prob", "gp", "diagonal_gp"))
            counts = (str(metrics["num"]), str(metrics["probes"]))
            errors = (f"{metrics['probe_error']:.5f}", f"{metrics['solver_error']:.5f}")
            rows.append((name, *cells, pair(metrics["regret"]), *counts, *errors))
    header = ("model", "log-likelihood", "exact GP", "diagonal GP", "regret", "fields", "probes")
    header += ("probe error of a field", "solver error")
    return Table("Log-likelihood at 600 Fibonacci points, nats per point", header, rows)


def regrets() -> Table:
    """Regret of every shipped model at all kinds of points."""
    rows = []
    for name in _shipped():
        cells = [pair(card_metrics(name, region).get("regret")) for region in REGIONS]
        if any(cells):
            rows.append((name, *cells))
    return Table("Regret by the points of the fields, nats per point", ("model", *REGIONS), rows)


def physics(part: dict[str, dict]) -> Table:
    """Divergence and curl of prior and posterior samples beside the exact process."""
    rows = []
    for name, laws in part.items():
        for law, metrics in laws.items():
            for operator in ("divergence", "curl"):
                found = metrics[operator]
                cells = (pair(found["rms"], 3), f"{found['exact']:.3f}", str(metrics["num"]))
                rows.append((name, law, operator, *cells))
    header = ("model", "law", "of the samples", "root mean square", "exact process", "samples")
    return Table("Divergence and curl of smoothed samples", header, rows)
