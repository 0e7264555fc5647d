"""Pictures of how good a model is: calibration, and a training curve."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geomndp._training_log import History, Log
from geomndp.plot.axes import new_axes
from geomndp.plot.read import plain_array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, GREY, BLACK = "#1f77b4", "#7f7f7f", "#111111"
MEASURES = {"loss": "loss", "gradient_norm": "norm of the gradient", "seconds": "seconds"}


def calibration(
    pit: Any,
    *,
    bins: int = 20,
    density: Any = None,
    label: str = "",
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Histogram of probability integral transforms: flat where the model is calibrated.

    Args:
        pit: Transforms from 0 to 1, of any shape, as `geomndp.evaluate.pit` gives them.
        bins: Number of bins.
        density: Heights of as many equal bins; `pit` is then not read.
        label: With one the histogram is an outline, so that several can share axes.
        title: Title of the figure.
        ax: Axes to draw on, by default those of a new figure.

    Returns:
        The axes.
    """
    ax = new_axes() if ax is None else ax
    if density is None:
        density, _ = np.histogram(_levels(pit), bins, (0, 1), density=True)
    edges = np.linspace(0, 1, len(density) + 1)
    style: dict[str, Any] = {"fill": True, "color": BLUE, "alpha": 0.5}
    ax.stairs(density, edges, **{"label": label, "color": GREY, "lw": 1.2} if label else style)
    ax.axhline(1.0, color=BLACK, lw=1.0, ls="--")
    ax.set(title=title, xlabel="probability integral transform", ylabel="density", xlim=(0, 1))
    return ax


def coverage(pit: Any, *, label: str = "", title: str = "", ax: Axes | None = None) -> Axes:
    r"""Share of targets in the central interval of every probability: the diagonal is right.

    A target lies in the central interval of probability q where $2 |PIT - 1/2| \le q$. A curve
    above the diagonal is that of a model less sure than it could be.

    Args:
        pit: Transforms from 0 to 1, of any shape.
        label: Label of the curve.
        title: Title of the figure.
        ax: Axes to draw on, by default those of a new figure.

    Returns:
        The axes.
    """
    ax = new_axes() if ax is None else ax
    levels = np.sort(2 * np.abs(_levels(pit) - 0.5))
    shares = np.arange(1, len(levels) + 1) / len(levels)
    ax.step(np.r_[0, levels, 1], np.r_[0, shares, 1], where="post", color=BLUE, label=label or None)
    ax.plot([0, 1], [0, 1], color=BLACK, lw=1.0, ls="--")
    ax.set(title=title, xlabel="probability of the interval", ylabel="share of targets inside")
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    return ax


def training_curve(
    history: History | str | os.PathLike[str],
    *,
    measure: str = "loss",
    label: str = "",
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw the loss of a training by step.

    Args:
        history: A history of `gn.fit`, or the folder or `log.csv` of a run.
        measure: "loss", "gradient_norm" or "seconds".
        label: Label of the curve.
        title: Title of the figure.
        ax: Axes to draw on, by default those of a new figure.

    Returns:
        The axes.
    """
    if measure not in MEASURES:
        known = ", ".join(map(repr, MEASURES))
        raise ValueError(f"expected measure to be one of {known}, got {measure!r}")
    if not isinstance(history, History):
        history = _read_log(Path(history))
    ax = new_axes() if ax is None else ax
    color = None if label else BLUE
    ax.plot(history.steps, getattr(history, measure), color=color, lw=1.0, label=label or None)
    ax.set(title=title, xlabel="step", ylabel=MEASURES[measure], xscale="log")
    return ax


def _levels(pit: Any) -> np.ndarray:
    values = plain_array("pit", pit).astype(float).reshape(-1)
    if not values.size or not np.all((values >= 0) & (values <= 1)):
        raise ValueError("expected probability integral transforms from 0 to 1, got others or none")
    return values


def _read_log(path: Path) -> History:
    """Rows of the log that a run keeps."""
    path = path / "log.csv" if path.is_dir() else path
    if not path.is_file():
        raise ValueError(f"expected the log of a run, got {path}, which is no file")
    return Log(path, upto=np.iinfo(np.int64).max, write=False).history()
