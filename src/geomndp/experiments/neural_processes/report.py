"""Tables of the comparison with neural processes, from stored results and cards; no JAX."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from geomndp.experiments.card_rows import card_metrics
from geomndp.experiments.neural_processes.experiment import EXACT, SETS, TEST_REGIONS, method_rows
from geomndp.experiments.neural_processes.paper import PUBLISHED
from geomndp.experiments.neural_processes.rows import DIFFUSION, diffusion_name
from geomndp.experiments.results import lookup
from geomndp.experiments.table import Table, log_likelihood, pair

METRICS = {
    "joint": "joint log-likelihood, nats per target",
    "marginal": "marginal log-likelihood, nats per target",
    "regret": "regret of the joint log-likelihood to the exact law, paired",
    "marginal_regret": "regret of the marginal log-likelihood to the exact law, paired",
    "behind_diffusion": "joint nats per target behind our diffusion model, paired",
    "crps": "CRPS of single values",
    "coverage": "coverage of the central 90% interval",
    "order_spread": "spread of the joint log-likelihood over 16 orders of the targets",
}
CARD = {"joint": "log_prob", "regret": "regret"}
"""Metrics that stand on the cards of diffusion models too."""
DIAGONAL = "product of the exact marginals (diagonal GP)"

FUNCTIONS = "test functions of neural processes"


def report(results: dict[str, Any]) -> list[Table]:
    """One table per suite, set of test inputs and metric, then the costs.

    Args:
        results: What `measure.measure` gives.

    Returns:
        Joint likelihoods always, with published rows and an empty cell for what was not trained;
        other tables where something was measured.
    """
    tables = []
    for suite in SETS:
        for region in TEST_REGIONS[suite]:
            for metric, title in METRICS.items():
                rows = metric_rows(results, suite, region, metric)
                tables.append(Table(f"{suite}, {region}: {title}", ("", *SETS[suite]), rows))
    for suite, sets in results.get("paired", {}).items():
        tables.append(paired_table(suite, sets))
    tables.append(cost_table(results.get("cost", {})))
    return [table for table in tables if table.rows]


def metric_rows(
    results: dict[str, Any], suite: str, region: str, metric: str
) -> list[tuple[str, ...]]:
    """Rows of one metric: exact law, product of its marginals, models, published numbers."""

    def cells(label: str, name: str = metric) -> tuple[str, ...]:
        return tuple(
            _cell(results, (suite, dataset, region, label), name) for dataset in SETS[suite]
        )

    labels = [] if metric in ("regret", "marginal_regret") else [EXACT]
    rows = [(label, *cells(label)) for label in labels]
    if metric == "joint":
        rows.append((DIAGONAL, *cells(EXACT, "marginal")))
    for label in (*DIFFUSION[suite], *method_rows(suite)):
        rows.append((label, *cells(label)))
    if metric != "joint":
        return [row for row in rows if any(row[1:])]
    numbers_measured = tuple(_functions(results, suite, name, region) for name in SETS[suite])
    if any(numbers_measured):
        rows.append((FUNCTIONS, *numbers_measured))
    published = PUBLISHED[suite].get(region, {})
    for label, values in published.items():
        numbers = ("" if value is None else log_likelihood(value) for value in values)
        rows.append((label, *numbers))
    return rows


def _functions(results: dict[str, Any], suite: str, dataset: str, region: str) -> str:
    """Number of functions on which the neural processes of a set were measured."""
    rows = lookup(results, "rows", suite, dataset, region) or {}
    return next((f"{rows[label]['num']:,}" for label in method_rows(suite) if label in rows), "")


def _cell(results: dict[str, Any], keys: tuple[str, str, str, str], metric: str) -> str:
    """A measured pair, else that of the card of a diffusion model, else nothing."""
    suite, dataset, region, label = keys
    found = lookup(results, "rows", *keys)
    value = None if found is None else found.get(metric)
    if value is None and metric in CARD and label in DIFFUSION[suite]:
        value = card_metrics(diffusion_name(suite, dataset, label), region).get(CARD[metric])
    if value is None and metric in ("joint", "marginal") and label == EXACT:
        key = "gp" if metric == "joint" else "diagonal_gp"
        cards = (
            card_metrics(diffusion_name(suite, dataset, row), region) for row in DIFFUSION[suite]
        )
        value = next((card[key] for card in cards if key in card), None)
    if value is None:
        return ""
    return log_likelihood(*value) if metric in ("joint", "marginal") else pair(value)


def paired_table(suite: str, sets: dict[str, Any]) -> Table:
    """Diffusion models and rolled-out neural processes on the same functions (`paired`).

    Args:
        suite: A key of `SETS`.
        sets: Set -> region -> what `paired.paired_set` gives.
    """
    labels = [label for label, row in method_rows(suite).items() if row.autoregressive]
    rows = []
    for dataset in SETS[suite]:
        for region, found in sets.get(dataset, {}).items():
            measured = [found["rows"].get(label, {}) for label in labels]
            first = (f"{dataset}, {region}", f"{found['num']:,}", str(found["probes"]))
            nats = [found.get("exact"), found["diffusion"], *(row.get("joint") for row in measured)]
            gains = [found.get("regret"), *(row.get("behind") for row in measured)]
            rows.append((*first, *(pair(value, 3) for value in nats), *(pair(v) for v in gains)))
    ours = DIFFUSION[suite][0]
    header = ("set", "functions", "probes", EXACT, ours, *labels, f"regret of {ours}")
    header += tuple(f"{label} behind {ours}" for label in labels)
    return Table(f"{suite}: joint nats per target on the same functions, paired", header, rows)


def cost_table(costs: dict[str, Any]) -> Table:
    """Parameters, time and evaluations of every measured row."""
    shown: dict[str, Callable[[Any], str]] = {
        "parameters": lambda value: f"{value:,}",
        "min_std": lambda value: f"{value:g}",
        "step_ms": lambda value: f"{value:.2f}",
        "posterior_ms": lambda value: f"{value:.2f}",
        "evaluations": str,
        "device": str,
    }
    rows = []
    for suite, dataset, label, entry in _costs(costs):
        cells = ("" if entry.get(key) is None else show(entry[key]) for key, show in shown.items())
        rows.append((f"{suite}/{dataset}", label, *cells))
    header = ("set", "model", "parameters", "smallest standard deviation", "ms per training step")
    header += ("ms per posterior", "evaluations per density", "device")
    return Table("Cost: a posterior is 64 samples at 50 targets", header, rows)


def _costs(costs: dict[str, Any]) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    for suite, sets in costs.items():
        for dataset, labels in sets.items():
            for label, entry in labels.items():
                yield suite, dataset, label, entry
