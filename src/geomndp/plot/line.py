"""Pictures of functions on the line."""

from __future__ import annotations

import numpy as np

BLUE, GREY, BLACK = "#1f77b4", "#7f7f7f", "#111111"


def functions_1d(x, samples, *, context=None, exact=None, title: str = "", ax=None):
    """Draw sampled functions, their 90% band, and observations.

    `x` (n, 1) or (n,), `samples` (s, n, 1) or (s, n); `context` a pair (x, y) of observations;
    `exact` a pair (mean, standard deviation) of the true law, drawn as dashed lines. Returns axes.
    """
    import matplotlib.pyplot as plt

    ax = plt.gca() if ax is None else ax
    x = np.asarray(x).reshape(-1)
    order = np.argsort(x)
    x, samples = x[order], np.asarray(samples).reshape(len(samples), -1)[:, order]
    low, high = np.quantile(samples, [0.05, 0.95], axis=0)
    ax.fill_between(x, low, high, color=BLUE, alpha=0.15, lw=0, label="90% of samples")
    ax.plot(x, samples[:12].T, color=BLUE, lw=0.7, alpha=0.6)
    if exact is not None:
        mean, spread = (np.asarray(value).reshape(-1)[order] for value in exact)
        ax.plot(x, mean, color=BLACK, lw=1.0, label="exact mean")
        for sign in (-1.645, 1.645):
            label = "exact 90%" if sign > 0 else None
            ax.plot(x, mean + sign * spread, color=BLACK, lw=1.0, ls="--", label=label)
    if context is not None and len(context[0]):
        observed = [np.asarray(value).reshape(-1) for value in context]
        ax.plot(*observed, "o", color=BLACK, ms=4, label="observed")
    ax.set(title=title, xlabel="x", ylabel="y", xlim=(x[0], x[-1]))
    return ax


def calibration(pit, *, bins: int = 20, density=None, label: str = "", title: str = "", ax=None):
    """Histogram of probability integral transforms: flat where the model is calibrated.

    With `density`, heights of as many equal bins, `pit` is not read. A `label` outlines the
    histogram, so that several can share axes.
    """
    import matplotlib.pyplot as plt

    ax = plt.gca() if ax is None else ax
    if density is None:
        density, _ = np.histogram(np.asarray(pit).reshape(-1), bins, (0, 1), density=True)
    edges = np.linspace(0, 1, len(density) + 1)
    options = {"label": label, "color": GREY, "lw": 1.2} if label else {}
    ax.stairs(density, edges, **options or {"fill": True, "color": BLUE, "alpha": 0.5})
    ax.axhline(1.0, color=BLACK, lw=1.0, ls="--")
    ax.set(title=title, xlabel="probability integral transform", ylabel="density", xlim=(0, 1))
    return ax


def training_curve(history, *, ax=None):
    """Loss against steps."""
    import matplotlib.pyplot as plt

    ax = plt.gca() if ax is None else ax
    ax.plot(history.steps, history.loss, color=BLUE, lw=1.0)
    ax.set(xlabel="step", ylabel="loss", xscale="log")
    return ax
