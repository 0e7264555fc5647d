"""Axes for pictures that were given none: always of a new figure, never the user's current one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def new_axes() -> Axes:
    """Axes of a new figure."""
    return new_column(1)[0]


def new_column(count: int) -> list[Axes]:
    """Axes of a new figure, one below the other, with common inputs."""
    import matplotlib.pyplot as plt

    width, height = plt.rcParams["figure.figsize"]
    size = (width, height * (1 + 0.6 * (count - 1)))
    _, axes = plt.subplots(count, sharex=True, squeeze=False, figsize=size)
    return list(axes[:, 0])


def as_column(ax: Any, count: int) -> list[Axes]:
    """The axes that were given, one per output; those of a new figure for None."""
    if ax is None:
        return new_column(count)
    axes = [ax] if hasattr(ax, "plot") else list(ax)
    if len(axes) != count:
        raise ValueError(f"expected {count} axes, one per output, got {len(axes)}")
    return axes
