"""Pictures of functions on the line."""

from __future__ import annotations

from typing import Any

import numpy as np

from geomndp.plot.axes import as_column
from geomndp.plot.read import PlottedFunctions, read_context, read_functions

BLUE, BLACK = "#1f77b4", "#111111"
LINES = 12  # samples drawn one by one


def functions_1d(
    x: Any,
    samples: Any = None,
    *,
    context: Any = None,
    exact: Any = None,
    title: str = "",
    ax: Any = None,
) -> Any:
    """Draw sampled functions, their 90% band, and observations; outputs one below the other.

    Args:
        x: Inputs (n, 1) or (n,), or a table of samples alone.
        samples: Samples (s, n, p), or (s, n) of one output, or one function (n, p).
        context: Observations: a pair (x, y) or a table.
        exact: Pair (mean, standard deviation) of the true law, (n, p) or (n,) each, at the same
            inputs, drawn as black lines.
        title: Title of the picture.
        ax: Axes to draw on, a sequence of p axes for p outputs; by default those of a new figure.

    Returns:
        The axes; for several outputs a list of them.
    """
    drawn = read_functions(x, samples, d=1, p=None)
    p = drawn.y.shape[2]
    observed = read_context(context, drawn, d=1, p=p)
    law = None if exact is None else [np.asarray(v).reshape(len(drawn.x), p) for v in exact]
    axes = as_column(ax, p)
    for i, one in enumerate(axes):
        _draw(one, drawn, observed, law, i)
        other = "y" if p == 1 else f"y{i + 1}"
        one.set(ylabel=drawn.label(i, True, other))
    axes[0].set(title=title)
    axes[-1].set(xlabel=drawn.label(0, False, "x"))
    return axes[0] if p == 1 else axes


def _draw(
    ax: Any, drawn: PlottedFunctions, observed: PlottedFunctions | None, law: Any, output: int
) -> None:
    """One output on axes of its own."""
    order = np.argsort(drawn.x[:, 0], kind="stable")
    locations, values = drawn.x[order, 0], drawn.y[:, order, output]
    if len(values) > 1:
        low, high = np.quantile(values, [0.05, 0.95], axis=0)
        ax.fill_between(locations, low, high, color=BLUE, alpha=0.15, lw=0, label="90% of samples")
    ax.plot(locations, values[:LINES].T, color=BLUE, lw=0.7, alpha=0.6)
    if law is not None:
        mean, spread = (value[order, output] for value in law)
        ax.plot(locations, mean, color=BLACK, lw=1.0, label="exact mean")
        for sign in (-1.645, 1.645):
            label = "exact 90%" if sign > 0 else None
            ax.plot(locations, mean + sign * spread, color=BLACK, lw=1.0, ls="--", label=label)
    if observed is not None:
        context = observed.x[:, 0], observed.y[0, :, output]
        ax.plot(*context, "o", color=BLACK, ms=4, label="observed")
        locations = np.concatenate([locations, observed.x[:, 0]])
    if len(shown := locations[np.isfinite(locations)]):
        ax.set_xlim(shown.min(), shown.max())
