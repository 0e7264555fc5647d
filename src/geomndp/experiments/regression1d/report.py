"""Tables of the 1D models, from their cards and from stored results; no JAX."""

from __future__ import annotations

from geomndp.experiments.regression1d.experiment import SUITES
from geomndp.experiments.regression1d.likelihood_table import summary, tables as likelihood_tables
from geomndp.experiments.table import (
    Table,
    noise_density_tables,
    noise_tables,
    pair,
    score_errors,
)


def report(results: dict) -> list[Table]:
    """Summary, likelihoods of both suites, then every table for which there are results."""
    likelihoods = [table for suite in SUITES for table in likelihood_tables(suite)]
    return [summary(), *likelihoods, *tables(results)]


def tables(results: dict) -> list[Table]:
    """Every table for which there are results."""
    candidates = [
        calibration(results.get("calibration", {})),
        score_errors(results.get("gaps", {})),
    ]
    candidates += [ablation(name, rows) for name, rows in results.get("ablation", {}).items()]
    candidates += [samplers(name, part) for name, part in results.get("samplers", {}).items()]
    candidates.append(curve(results.get("curve", {})))
    candidates += noise_tables(results.get("noise", {}))
    densities = results.get("noise_densities", {})
    candidates += noise_density_tables(densities, "noise over limiting variance")
    return [table for table in candidates if table.rows]


def calibration(part: dict) -> Table:
    """CRPS and coverage beside those of the exact process's own samples."""
    rows = []
    for name, regions in part.items():
        for region, entry in regions.items():
            cells = [pair(entry["model"]["crps"]), pair(entry.get("crps_regret"))]
            for level in ("coverage50", "coverage90"):
                exact = entry["gp"][level] if "gp" in entry else None
                cells += [pair(entry["model"][level], 3), pair(exact, 3)]
            worst = max(abs(density - 1) for density in entry["model"]["pit"])
            rows.append((name, region, *cells, f"{worst:.3f}"))
    header = ("model", "region", "CRPS", "CRPS regret", "50% coverage", "exact GP")
    header += ("90% coverage", "exact GP", "largest deviation of the PIT density from 1")
    return Table("Calibration of posterior samples", header, rows)


def ablation(name: str, settings: list[dict]) -> Table:
    """Limiting kernel and parametrisation."""
    rows = []
    for row in settings:
        cells = [pair(row.get(key)) for key in ("gap_joint", "gap_conditional", "regret")]
        if "diverged" in row:
            cells[-1] = f"diverged at step {row['diverged']}"
        rows.append((row["limit"], row["parametrisation"], str(row.get("steps", "")), *cells))
    header = ("limiting kernel", "parametrisation", "steps", "score error, joint")
    header += ("score error, conditional", "regret")
    return Table(f"Limiting kernel and parametrisation, {name}", header, rows)


def samplers(name: str, part: dict) -> Table:
    """KL to the exact posterior with the learnt and with the exact score."""
    exact = {row["sampler"]: row["kl"] for row in part.get("exact", [])}
    rows = []
    for row in part.get("learnt", []):
        kl = "not finite" if row["kl"] is None else pair(row["kl"])
        spread = row.get("kl_error")
        cells = (kl, "" if spread is None else f"{spread:.4f}", pair(exact.get(row["sampler"])))
        rows.append((row["sampler"], str(row["evaluations"]), *cells))
    header = ("sampler", "score evaluations", "KL", "sampling error", "KL with the exact score")
    return Table(f"Conditional samplers with the learnt score, {name}", header, rows)


def curve(part: dict) -> Table:
    """Regret against training."""
    rows = []
    for name, points in part.items():
        for point in points:
            keys = ("gap_joint", "gap_conditional", "regret")
            seconds = point.get("seconds")
            when = (str(point["steps"]), "" if seconds is None else f"{seconds:.0f}")
            rows.append((name, *when, *(pair(point.get(key)) for key in keys)))
    header = (
        "model",
        "steps",
        "seconds",
        "score error, joint",
        "score error, conditional",
        "regret",
    )
    return Table("Regret against training", header, rows)
