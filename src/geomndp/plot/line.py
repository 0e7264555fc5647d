"""Pictures of functions on the line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from geomndp.plot.read import read_context, read_functions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, BLACK = "#1f77b4", "#111111"
LINES = 12  # samples drawn one by one


def functions_1d(
    x: Any,
    samples: Any = None,
    *,
    context: Any = None,
    exact: Any = None,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw sampled functions, their 90% band, and observations.

    `x` (n, 1) or (n,) with `samples` (s, n, 1) or (s, n), or a table of samples alone; `context` a
    pair (x, y) of observations or a table; `exact` a pair (mean, standard deviation) of the true
    law at the same inputs, drawn as dashed lines. Returns axes.
    """
    import matplotlib.pyplot as plt

    ax = plt.gca() if ax is None else ax
    drawn = read_functions(x, samples, d=1, p=1)
    order = np.argsort(drawn.x[:, 0], kind="stable")
    places, values = drawn.x[order, 0], drawn.y[:, order, 0]
    if len(values) > 1:
        low, high = np.quantile(values, [0.05, 0.95], axis=0)
        ax.fill_between(places, low, high, color=BLUE, alpha=0.15, lw=0, label="90% of samples")
    ax.plot(places, values[:LINES].T, color=BLUE, lw=0.7, alpha=0.6)
    if exact is not None:
        mean, spread = (np.asarray(value).reshape(-1)[order] for value in exact)
        ax.plot(places, mean, color=BLACK, lw=1.0, label="exact mean")
        for sign in (-1.645, 1.645):
            label = "exact 90%" if sign > 0 else None
            ax.plot(places, mean + sign * spread, color=BLACK, lw=1.0, ls="--", label=label)
    observed = read_context(context, drawn, d=1, p=1)
    if observed is not None:
        ax.plot(observed.x[:, 0], observed.y[0, :, 0], "o", color=BLACK, ms=4, label="observed")
    ax.set(title=title, xlabel=drawn.label(0, False, "x"), ylabel=drawn.label(0, True, "y"))
    ax.set_xlim(places[0], places[-1])
    return ax
