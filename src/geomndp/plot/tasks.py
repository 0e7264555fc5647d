"""Processes on the same tasks: by how much the first is ahead, and whether each is calibrated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from geomndp.evaluate.task_metrics import TaskMetrics, paired_differences
from geomndp.plot.checks import BLACK, coverage

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def task_comparison(
    metrics: Mapping[str, TaskMetrics], *, title: str = "", axes: Any = None
) -> tuple[Axes, Axes]:
    """Draw paired gains in joint nats, and the coverage of central intervals.

    Nats are per target value, of tracks per target point.

    Args:
        metrics: Metrics by name of the process, of the same tasks (`gn.evaluate.on_tasks`); gains
            are those of the first over each other one, with two standard errors over functions.
        title: Title of the figure.
        axes: Two axes to draw on, by default those of a new figure.

    Returns:
        The axes of the gains and of the coverage.

    Raises:
        ValueError: If there are fewer than two processes, or their tasks are not the same.
    """
    if len(metrics) < 2:
        raise ValueError(f"expected metrics of at least two processes, got {len(metrics)}")
    (first, reference), *others = metrics.items()
    gains = {name: paired_differences(reference, each, ("joint",)) for name, each in others}
    left, right = _new_pair() if axes is None else axes
    width = 0.8 / len(others)
    for number, (name, differences) in enumerate(gains.items()):
        middle = np.arange(len(differences)) + (number - (len(others) - 1) / 2) * width
        errors = [2 * (d.standard_error or 0.0) for d in differences]
        left.bar(middle, [d.mean for d in differences], width, yerr=errors, label=name, capsize=2)
    left.axhline(0.0, color=BLACK, lw=1.0)
    kinds = [d.kind for d in next(iter(gains.values()))]
    left.set_xticks(np.arange(len(kinds)), kinds)
    unit = "point" if "error_km" in reference.values else "value"
    left.set(title=title, ylabel=f"gain of {first}, nats per target {unit}")
    left.margins(y=0.25)
    left.legend(title="over", loc="upper center", ncols=len(others), fontsize="small")
    for name, each in metrics.items():
        coverage(each.pit[np.isfinite(each.pit)], label=name, ax=right)
        right.get_lines()[-2].set_color(f"C{len(right.get_lines()) // 2 - 1}")
    right.legend(fontsize="small")
    return left, right


def _new_pair() -> Any:
    import matplotlib.pyplot as plt

    width, height = plt.rcParams["figure.figsize"]
    return plt.subplots(1, 2, figsize=(2 * width, height), layout="constrained")[1]
