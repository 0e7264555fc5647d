"""Joint against marginal likelihood of every measured row, one panel per set."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from geomndp.experiments.base import Unavailable
from geomndp.experiments.neural_processes.experiment import EXACT, TEST_REGIONS
from geomndp.experiments.results import lookup


def figures(results: dict[str, Any], folder: Path, data: str | None = None) -> Iterator[Path]:
    """One figure per suite, of its first set of test inputs.

    Args:
        results: What `measure.measure` gives.
        folder: Folder of the figures.
        data: Not used.

    Yields:
        Path of every figure.

    Raises:
        Unavailable: If nothing was measured.
    """
    rows = results.get("rows", {})
    if not rows:
        raise Unavailable("no row of the comparison with neural processes was measured")
    import matplotlib

    matplotlib.use("Agg")
    for suite, sets in rows.items():
        region = TEST_REGIONS[suite][0]
        panels = {dataset: lookup(sets, dataset, region) or {} for dataset in sets}
        yield likelihood_figure(panels, folder / f"neural-processes-{suite}.png")


def likelihood_figure(panels: dict[str, dict[str, Any]], path: Path) -> Path:
    """Joint against marginal nats per target; lines at those of the exact law."""
    import matplotlib.pyplot as plt

    from geomndp.plot import save_figure

    size = (3.4 * len(panels), 3.2)
    figure, axes = plt.subplots(1, len(panels), figsize=size, squeeze=False)
    for ax, (dataset, rows) in zip(axes[0], panels.items(), strict=True):
        for label, metrics in rows.items():
            if label == EXACT:
                ax.axhline(metrics["joint"][0], color="0.6", lw=0.8)
                ax.axvline(metrics["marginal"][0], color="0.6", lw=0.8)
                continue
            (x, dx), (y, dy) = metrics["marginal"], metrics["joint"]
            ax.errorbar([x], [y], yerr=[dy], xerr=[dx], marker="o", ms=4, label=label)
        ax.set(title=dataset, xlabel="marginal nats per target")
        ax.grid(alpha=0.3)
    axes[0, 0].set_ylabel("joint nats per target")
    axes[0, 0].legend(fontsize=6)
    figure.tight_layout()
    return save_figure(figure, path)
