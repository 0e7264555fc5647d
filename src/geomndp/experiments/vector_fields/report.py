"""Tables of the vector-field models, from their cards and from stored results; no JAX."""

from __future__ import annotations

from geomndp.experiments.table import Table, noise_tables, pair, score_errors
from geomndp.experiments.vector_fields.likelihood_table import summary, tables as likelihood_tables


def report(results: dict) -> list[Table]:
    """Summary, likelihoods, then every table for which there are results."""
    return [summary(), *likelihood_tables(), *tables(results)]


def tables(results: dict) -> list[Table]:
    """Every table for which there are results."""
    candidates = [efficiency(results.get("efficiency", {})), physics(results.get("physics", {}))]
    candidates += [
        unseen_locations(results.get("elsewhere", {})),
        densities(results.get("densities", {})),
    ]
    candidates.append(score_errors(results.get("gaps", {})))
    candidates.append(step_times(results.get("step_times", [])))
    candidates += noise_tables(results.get("noise", {}))
    return [table for table in candidates if table.rows]


def efficiency(part: dict[str, list[dict]]) -> Table:
    """Likelihood and regret against the number of training fields."""
    rows = []
    for name, points in part.items():
        # Fresh fields last.
        for point in sorted(points, key=lambda point: point.get("functions") or float("inf")):
            functions = point.get("functions")
            what = "fresh" if functions is None else str(functions)
            counts = (str(point.get(key, "")) for key in ("steps", "num", "probes"))
            scores = pair(point.get("log_prob"), 3), pair(point["regret"])
            rows.append((name, what, *counts, *scores))
    header = ("model", "training fields", "steps", "test fields", "probes", "log-likelihood")
    header += ("regret",)
    return Table("Data efficiency, nats per point", header, rows)


def physics(part: dict[str, dict]) -> Table:
    """Divergence, curl and Helmholtz parts of prior samples beside the exact process."""
    rows = []
    for name, metrics in part.items():
        cells = [name, str(metrics["num"])]
        for key, value in (("divergence", "rms"), ("curl", "rms"), ("gradient_share", "share")):
            entry = metrics.get(key)
            cells += ["", ""] if entry is None else [pair(entry[value]), f"{entry['exact']:.4f}"]
        rows.append(tuple(cells))
    header = ("model", "samples", "divergence, rms", "exact GP", "curl, rms", "exact GP")
    header += ("energy of the gradient part", "exact GP")
    return Table("Divergence and curl of samples", header, rows)


def unseen_locations(part: dict[str, dict[str, dict]]) -> Table:
    """Locations off the training grid."""
    rows = []
    for name, grids in part.items():
        for grid, metrics in grids.items():
            errors = metrics.get("gaps", {})
            cells = [pair(errors.get(mode)) for mode in ("joint", "conditional")]
            cells += [pair(metrics.get("whitened"), 3), pair(metrics.get("regret"))]
            rows.append((name, grid, str(metrics["points"]), *cells))
    header = ("model", "locations", "points", "score error, joint", "conditional")
    header += ("mean square of whitened posterior samples", "regret")
    return Table("Locations off the training grid, nats per point", header, rows)


def densities(part: dict[str, dict[str, dict]]) -> Table:
    """Other densities of points, clusters and coincident points."""
    rows = []
    for name, designs in part.items():
        for design, metrics in designs.items():
            errors = metrics.get("gaps", {})
            counts = (
                str(metrics["points"]),
                str(metrics["contexts"]),
                f"{metrics['neighbours']:.0f}",
            )
            cells = [pair(errors.get(mode)) for mode in ("joint", "conditional")]
            rows.append((name, design, *counts, *cells, pair(metrics.get("regret"))))
    header = ("model", "design", "points", "of these context", "neighbours per point")
    header += ("score error, joint", "conditional", "regret")
    return Table("Other densities of points, nats per point", header, rows)


def step_times(part: list[dict]) -> Table:
    """Cost of a training step."""
    header = ("network", "milliseconds", "batch", "device")
    rows = []
    for row in part:
        rest = (str(row.get(key, "")) for key in header[2:])
        rows.append((row["case"], f"{row['milliseconds']:.1f}", *rest))
    return Table("Training step, 648 points", header, rows)
