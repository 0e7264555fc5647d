"""How `geomndp list` shows the metrics of an experiment's models. No JAX."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple


class MetricColumns(NamedTuple):
    """Columns of a listing."""

    description: str
    headers: tuple[str, ...]
    cells: Callable[[Mapping[str, dict]], tuple[str, ...]]
    """Metrics by region -> one text per header; empty where nothing was measured."""


def likelihood_columns(description: str, regions: Mapping[str, str]) -> MetricColumns:
    """Log-likelihood and regret in every region, under the header that `regions` gives it."""

    def cells(metrics: Mapping[str, dict]) -> tuple[str, ...]:
        return tuple(cell for region in regions for cell in _likelihood(metrics.get(region)))

    headers = tuple(text for header in regions.values() for text in (header, "regret"))
    return MetricColumns(description, headers, cells)


def _likelihood(metrics: dict | None) -> tuple[str, str]:
    if metrics is None:
        return "", ""
    if metrics["log_prob"][0] <= -10:
        return "below -10", ""
    return with_digit_error(metrics["log_prob"], 3), with_digit_error(metrics.get("regret"), 4)


def with_digit_error(pair: Sequence[float] | None, digits: int) -> str:
    """A number with its standard error in units of its last digit: 0.726(5)."""
    if pair is None:
        return ""
    mean, error = pair
    while digits and error * 10**digits >= 10:
        digits -= 1
    return f"{mean:.{digits}f}({round(error * 10**digits)})"
