"""Gains over the best simple model, set by set."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from geomndp.experiments.base import Unavailable
from geomndp.experiments.own_data.report import best_simple
from geomndp.plot import save_figure


def figures(results: dict, folder: Path, data: str | None = None) -> Iterator[Path]:
    """Draw the gains in joint nats with two standard errors, by number of training functions.

    Args:
        results: What `measure` gives.
        folder: Folder for the figure.
        data: Not needed.

    Returns:
        Path of the figure.

    Raises:
        Unavailable: If nothing was measured.
    """
    sets = {name: entry for name, entry in results.get("sets", {}).items() if best_simple(entry)}
    if not sets:
        raise Unavailable("no results; measure with --data FOLDER --num 200")
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 0.35 * len(sets) + 1.5), layout="constrained")
    order = sorted(sets, key=lambda name: sets[name]["functions"])
    for row, name in enumerate(order):
        mean, error = sets[name]["gains"][best_simple(sets[name])]["joint"]["all"]
        axes.errorbar(mean, row, xerr=2 * (error or 0.0), fmt="o", color="#1f77b4", capsize=2)
    axes.axvline(0.0, color="#111111", lw=1.0, ls="--")
    labels = [f"{name} ({sets[name]['functions']}), {best_simple(sets[name])}" for name in order]
    axes.set_yticks(range(len(order)), labels)
    axes.set(xlabel="gain over the best simple model, joint nats per target value")
    yield save_figure(figure, folder / "own-data-gains.png")
