"""Rows of likelihood tables from the cards of shipped models; no JAX."""

from __future__ import annotations

from collections.abc import Sequence

from geomndp import _model_files
from geomndp.experiments.table import log_likelihood

ROUTES = {"conditional": "", "joint": ", joint route"}
"""Route of the likelihood -> what follows the label of its rows."""


def card_metrics(name: str | None, region: str, route: str = "conditional") -> dict:
    """Metrics on a model's card; empty if it does not ship or was not measured."""
    if name not in _model_files.names():
        return {}
    metrics = _model_files.metadata(name).get("metrics", {}).get(region, {})
    return metrics if route == "conditional" else metrics.get(route, {})


def cells(
    names: Sequence[str | None], region: str, key: str, route: str = "conditional"
) -> tuple[str, ...]:
    """One metric of several models; empty where it was not measured."""
    cards = [card_metrics(name, region, route) for name in names]
    return tuple(log_likelihood(*card[key]) if key in card else "" for card in cards)


def model_rows(
    label: str, names: Sequence[str | None], region: str, *, regret: bool = True
) -> list[tuple[str, ...]]:
    """Log-likelihood and regret by either route; rows of which nothing was measured are left out.

    Args:
        label: Name of the model in the table.
        names: Shipped model of every column; None where there is none.
        region: Test set.
        regret: Whether to add the rows of the regret.

    Returns:
        A label and one cell per column in each row.
    """
    keys = {"log_prob": "", "regret": "regret of "} if regret else {"log_prob": ""}
    rows = [
        (f"{start}{label}{suffix}", *cells(names, region, key, route))
        for route, suffix in ROUTES.items()
        for key, start in keys.items()
    ]
    return [row for row in rows if any(row[1:])]
