"""Tables of all sets from stored results; no JAX."""

from __future__ import annotations

from typing import Any

from geomndp.experiments.table import Table, pair

OURS = "ours"
PUBLISHED = {
    "joint": ("logp_joint", "logp_joint_per_point"),
    "marginal": ("logp_marginal", "logp_marginal_per_point"),
    "crps": ("crps_sd", "energy_km"),
    "coverage": ("cover90",),
    "rmse": ("rmse_sd", "geodesic_km"),
}
"""Metric -> its names in the baselines of the folder: of real values, of tracks."""
OF_TRACKS = {"crps": "energy_km", "rmse": "error_km"}


def report(results: dict[str, Any]) -> list[Table]:
    """What was gained on every set, then all metrics of all models.

    Args:
        results: What `measure` gives.

    Returns:
        Two tables; none without results.
    """
    sets = results.get("sets", {})
    return [summary_table(sets), metrics_table(sets)] if sets else []


def summary_table(sets: dict[str, dict]) -> Table:
    """One row per set: the gain over the best simple model, coverage, and seconds."""
    rows = []
    for name, entry in sets.items():
        best = best_simple(entry)
        gains = entry["gains"].get(best, {})
        score = gains.get("crps", gains.get("energy_km", {})).get("all")
        ours = entry["models"][OURS]
        gain = pair(gains.get("joint", {}).get("all"), 3)
        cells = (gain, pair(entry.get("gain_before"), 3), pair(score, 4))
        published = published_joint(entry)
        rows.append(
            (
                name,
                str(entry["functions"]),
                best,
                pair(ours["all"]["joint"], 3),
                "" if published is None else f"{published[1]:.3f} ({published[0]})",
                *cells,
                pair(ours["all"]["coverage"], 2),
                f"{ours['fit_seconds']:.0f}",
                f"{ours['evaluation_seconds']:.0f}",
                str(entry["runs"]),
            )
        )
    header = ("set", "training functions", "best simple model", "ours, joint nats")
    header += (
        "best simple model, joint nats",
        "gain in joint nats",
        "gain in the run before",
        "difference in CRPS (negative is better)",
        "90% coverage",
    )
    header += ("s to fit", "s to evaluate", "test runs")
    return Table("Gain over the best simple model, mean over the kinds of tasks", header, rows)


def best_simple(entry: dict[str, Any]) -> str:
    """The simple model of the highest joint nats, averaged over kinds."""
    simple = {name: model for name, model in entry["models"].items() if name != OURS}
    return max(simple, key=lambda name: simple[name]["all"]["joint"][0]) if simple else ""


def published_joint(entry: dict[str, Any]) -> tuple[str, float] | None:
    """The best published baseline by joint nats, averaged over kinds."""
    found = {}
    for name, model in entry["published"].items():
        values = [_published(kind, "joint") for kind in model["kinds"].values()]
        if all(value is not None for value in values):
            found[name] = sum(value for value in values if value is not None) / len(values)
    return max(found.items(), key=lambda item: item[1]) if found else None


def metrics_table(sets: dict[str, dict]) -> Table:
    """One row per set, kind and model: those measured, and others that the folder publishes."""
    rows = []
    for name, entry in sets.items():
        measured = entry["models"]
        others = {k: model for k, model in entry["published"].items() if k not in measured}
        for kind, ours in measured[OURS]["kinds"].items():
            for label, model in measured.items():
                found = model["kinds"][kind]
                cells = [_pair(found, metric) for metric in PUBLISHED]
                seconds = f"{model['fit_seconds']:.0f}"
                rows.append((name, f"{kind}, {ours['tasks']}", label, *cells, seconds))
            for label, model in others.items():
                found = model["kinds"].get(kind, {})
                cells = [_number(_published(found, metric)) for metric in PUBLISHED]
                seconds = f"{model['seconds']:.0f}"
                rows.append((name, kind, f"{label}, published", *cells, seconds))
    header = ("set", "tasks", "model", "joint nats", "marginal nats", "CRPS or energy score")
    header += ("90% coverage", "RMSE or error", "s to fit")
    return Table("All sets and kinds of tasks", header, rows)


def _pair(found: dict[str, Any], metric: str) -> str:
    value = found.get(metric, found.get(OF_TRACKS.get(metric, "")))
    if value is None or value[0] is None:
        return ""
    return pair(value, 0 if abs(value[0]) >= 100 else 3)


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3f}"


def _published(kind: dict[str, Any], metric: str) -> float | None:
    return next((kind[name] for name in PUBLISHED[metric] if name in kind), None)
