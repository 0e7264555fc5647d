"""What training saw: the record of a model, and the measures that requests are compared by."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import numpy as np
from scipy.spatial import KDTree

from geomndp._deprecated import deprecated_names
from geomndp.data import Normaliser, circle

Range = tuple[float, float]
SAME_UNITS = Normaliser()


class TrainingSupport(eqx.Module):
    """What a model saw in training; the data's units unless said otherwise.

    Attributes:
        inputs: Range of each input.
        outputs: Range of each output.
        extents: Largest range of each input within one function.
        spacing: Smallest of the functions' median distances between a point and its nearest
            neighbour, in the model's units; zero where no function has two points.
        points: Largest number of points of a function.
        contexts: Largest number of context points of a function.
        noise: Range of the variance of observation noise, beside noise-free observations; None if
            the model was not trained with contexts.
        max_spacing: Largest of the functions' median distances, as `spacing`; None where it was not
            recorded.
    """

    inputs: tuple[Range, ...] = eqx.field(static=True)
    outputs: tuple[Range, ...] = eqx.field(static=True)
    extents: tuple[float, ...] = eqx.field(static=True)
    spacing: float = eqx.field(static=True)
    points: int = eqx.field(static=True)
    contexts: int = eqx.field(static=True)
    noise: Range | None = eqx.field(default=None, static=True)
    max_spacing: float | None = eqx.field(default=None, static=True)

    def __check_init__(self) -> None:
        ranges = (*self.inputs, *self.outputs, *(() if self.noise is None else (self.noise,)))
        if any(low > high for low, high in ranges) or min(self.extents, default=0.0) < 0:
            raise ValueError("expected ranges from low to high, got others")
        if len(self.extents) != len(self.inputs):
            got = f"{len(self.inputs)} and {len(self.extents)}"
            raise ValueError(f"expected as many extents as inputs, got {got}")
        if self.noise is not None and self.noise[0] < 0:
            raise ValueError(f"expected noise >= 0, got {self.noise}")
        if self.spacing < 0 or self.points < 1 or self.contexts < 0:
            raise ValueError("expected spacing >= 0, points >= 1 and contexts >= 0, got others")
        if self.max_spacing is not None and self.max_spacing < self.spacing:
            raise ValueError(f"expected max_spacing >= {self.spacing}, got {self.max_spacing}")


def spacing(x: np.ndarray, periods: tuple[float, ...] = ()) -> float:
    """Median distance of the points of one function to the nearest other; zero if there is none.

    Args:
        x: Points (n, d).
        periods: Period of every coordinate, zero where it has none; empty where none has one.
    """
    apart = np.unique(circle.embed(x, periods) if periods else x, axis=0)
    if len(apart) < 2:
        return 0.0
    return float(np.median(KDTree(apart).query(apart, k=2)[0][:, 1]))


def extents(x: np.ndarray, periods: tuple[float, ...] = ()) -> np.ndarray:
    """Range of each coordinate of points (n, d); of a periodic one the shortest arc of all."""
    return circle.extents(x, periods) if periods else np.ptp(x, axis=0)


def periods_of(model: Any) -> tuple[float, ...]:
    """Period of every input in a model's units, zero where it has none; empty for no periods."""
    return () if model.normaliser is None else model.normaliser.model_periods


def in_data_units(shift: tuple[float, ...], scale: tuple[float, ...], values: np.ndarray):
    """Undo a normaliser in NumPy's float64; JAX would compile for every number of points."""
    return np.asarray(shift) + np.asarray(scale) * np.asarray(values, np.float64)


def outputs_in_data_units(units: Normaliser, y: np.ndarray) -> np.ndarray:
    """Undo a normaliser, with its transforms; a model without one has the data's own units."""
    return y if units is SAME_UNITS else units.inverse_y(y)


deprecated_names(__name__, {"with_support": "geomndp.model.training_record:with_support"})
