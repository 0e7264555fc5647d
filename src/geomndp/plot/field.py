"""Vector fields over the plane as arrows."""

from __future__ import annotations

import numpy as np

BLUE, RED = "#1f77b4", "#d62728"


def vector_field(x, y, *, context=None, title: str = "", scale: float | None = None, ax=None):
    """Draw vectors y (n, 2) at places x (n, 2), and observed ones in red.

    `context` is a pair (x, y) of observations. `scale` is the length of a unit vector in units of
    the places, by default such that nine of ten arrows are no longer than the points' spacing.
    Returns axes.
    """
    import matplotlib.pyplot as plt

    ax = plt.gca() if ax is None else ax
    x, y = _planar("vectors", x, y)
    scale = arrow_scale(x, y) if scale is None else scale
    groups = [(x, y, {"color": BLUE, "width": 0.004})]
    if context is not None and len(context[0]):
        observed = _planar("observations", *context)
        groups.append((*observed, {"color": RED, "width": 0.007, "zorder": 3}))
        ax.plot(*observed[0].T, "o", color=RED, ms=3, zorder=3, label="observed")
    for places, vectors, style in groups:
        arrows = {"angles": "xy", "scale_units": "xy", "scale": 1 / scale}
        ax.quiver(*places.T, *vectors.T, **arrows, **style)
    ax.set(title=title, xticks=[], yticks=[], aspect="equal")
    ax.margins(0.08)
    return ax


def arrow_scale(x, y) -> float:
    """Length of a unit vector that makes most arrows about as long as the points' spacing."""
    x, y = _planar("vectors", x, y)
    spacing = np.sqrt(np.prod(np.ptp(x, axis=0)) / len(x)) if len(x) > 1 else 1.0
    size = np.quantile(np.linalg.norm(y, axis=1), 0.9)
    return float((spacing or 1.0) / (size or 1.0))


def _planar(name: str, x, y) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.asarray(x, float), np.asarray(y, float)
    if x.ndim != 2 or x.shape[1] != 2 or y.shape != x.shape:
        got = f"shapes {x.shape} and {y.shape}"
        raise ValueError(f"expected {name} over the plane, places and values (n, 2), got {got}")
    return x, y
