"""`geomndp list`: reads the JSON of the shipped models only."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from geomndp import _pretrained
from geomndp.cli.commands import List


class Kind(NamedTuple):
    """How models of one kind are listed: what was measured of them in which regions."""

    words: str
    headers: tuple[str, ...]
    regions: tuple[str, str]
    cells: Callable[[dict | None], tuple[str, ...]]


def list_models(command: List) -> None:
    """Print the shipped models."""
    documents = {name: _pretrained.document(_pretrained.find(name)) for name in _pretrained.names()}
    if command.json:
        print(json.dumps({n: d["metadata"] | _columns(d) for n, d in documents.items()}, indent=1))
        return
    groups: dict[tuple[Kind, str], dict[str, dict]] = {}
    for name, document in documents.items():
        named = [", ".join(part) for part in _columns(document).values()]
        columns = " -> ".join(named) if all(named) else "for arrays, not for files"
        groups.setdefault((_kind(document), columns), {})[name] = document["metadata"]["metrics"]
    for number, ((kind, columns), models) in enumerate(groups.items()):
        Console().print("\n" * bool(number) + f"{columns}: {kind.words}", soft_wrap=True)
        Console().print(_table(kind, models))


def _columns(document: dict) -> dict[str, list[str]]:
    """Names under which a model's inputs and outputs stand in files."""
    names = document.get("variables") or {"inputs": [], "outputs": []}
    return {part: [variable["name"] for variable in names[part]] for part in ("inputs", "outputs")}


def _kind(document: dict) -> Kind:
    """Tracks are told by their values, or by what was measured of them: errors in km."""
    on_sphere = (document.get("variables") or {}).get("codomain") == "sphere"
    measured = document["metadata"]["metrics"].values()
    return TRACKS if on_sphere or any("mean_error" in found for found in measured) else FUNCTIONS


def _table(kind: Kind, models: dict[str, dict]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("model", no_wrap=True)
    for header in kind.headers:
        table.add_column(header, justify="right", no_wrap=True)
    for name, metrics in models.items():
        found = (cell for region in kind.regions for cell in kind.cells(metrics.get(region)))
        table.add_row(name, *found)
    return table


def _function_cells(metrics: dict | None) -> tuple[str, ...]:
    """Log-likelihood and regret."""
    if metrics is None:
        return "", ""
    if metrics["log_prob"][0] <= -10:
        return "below -10", ""
    return _brief(metrics["log_prob"], 3), _brief(metrics.get("regret"), 4)


def _track_cells(metrics: dict | None) -> tuple[str, ...]:
    """Between fixes, or ahead of them."""
    if metrics is None:
        return "", "", ""
    nats = metrics.get("log_prob")
    found = f"{metrics['mean_error']:.0f} km", f"{metrics['coverage']:.2f}"
    return *found, "" if nats is None else f"{nats[0]:.0f}"


def _brief(pair: list[float] | None, digits: int) -> str:
    """A number with its standard error in units of its last digit: 0.726(5)."""
    if pair is None:
        return ""
    mean, error = pair
    while digits and error * 10**digits >= 10:
        digits -= 1
    return f"{mean:.{digits}f}({round(error * 10**digits)})"


FUNCTIONS = Kind(
    "nats per target and regret to the exact GP, inside and outside the training range",
    ("inside", "regret", "outside", "regret"),
    ("in-range", "out-of-range"),
    _function_cells,
)
TRACKS = Kind(
    "error of the mean, coverage of 90 % regions and nats a track, between and ahead of fixes",
    ("between", "cover", "nats", "ahead", "cover", "nats"),
    ("interpolation", "extrapolation"),
    _track_cells,
)
