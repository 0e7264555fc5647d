"""Picture data of samples: what a page draws and writes down, as plain lists."""

from __future__ import annotations

from typing import Any

import numpy as np

from geomndp.play.requests import Location, Request
from geomndp.play.scene import GLOBE, GRIDS, Scene
from geomndp.summaries import closest_approach, probability, track_mean, track_spread

LEVELS = (0.05, 0.95)
"""Quantiles that bound a band: 90 % of the samples lie between them."""


def target_inputs(scene: Scene, request: Request) -> np.ndarray:
    """Inputs (n, d) at which a picture shows functions.

    Along the view of a line, on a grid of two inputs (the first input runs fastest), and from the
    last fix of a track to the end of its view; over the whole view where it ends before.

    Args:
        scene: What is drawn.
        request: Observations and view.

    Returns:
        The targets.
    """
    n = request.targets
    if scene.kind in GRIDS:
        first, second = (np.linspace(*limits, n) for limits in request.view)
        return np.stack([axis.ravel() for axis in np.meshgrid(first, second)], axis=1)
    low, high = request.view[0]
    if scene.kind == GLOBE and len(request.x):
        last = float(request.x.max())
        if last < high:
            return np.linspace(max(last, low), high, n + 1)[1:, None]
    return np.linspace(low, high, n)[:, None]


def picture_of(scene: Scene, request: Request, x: np.ndarray, y: Any) -> dict[str, Any]:
    """Describe samples.

    Args:
        scene: What is drawn.
        request: What was asked for.
        x: Targets (n, d).
        y: Samples (s, n, p) of the model, in the data's units.

    Returns:
        Lists that JSON holds.
    """
    y = np.asarray(y, np.float64)
    if scene.kind == GLOBE:
        return _tracks(scene, x, y, request.near)
    low, high = np.quantile(y, LEVELS, axis=0)
    parts = {"mean": y.mean(axis=0), "std": y.std(axis=0, ddof=1), "low": low, "high": high}
    return {"x": x.tolist(), "samples": y.tolist(), **{k: v.tolist() for k, v in parts.items()}}


def exact_picture(marginals: Any) -> dict[str, Any]:
    """Mean, spread and band of an exact law.

    Args:
        marginals: Laws of the single values (n, p).

    Returns:
        Lists that JSON holds.
    """
    low, high = np.asarray(marginals.quantile(np.asarray(LEVELS)), np.float64)
    parts = {"mean": marginals.mean(), "std": marginals.std(), "low": low, "high": high}
    return {name: np.asarray(value, np.float64).tolist() for name, value in parts.items()}


def _tracks(scene: Scene, x: np.ndarray, y: np.ndarray, near: Location | None) -> dict[str, Any]:
    """Tracks as latitudes and longitudes, their mean, spread in km, and the chance to pass."""
    centre, spread = track_mean(y), track_spread(y)
    picture = {
        "x": x.tolist(),
        "samples": scene.variables.from_values(y).tolist(),
        "mean": scene.variables.from_values(np.asarray(centre.value, np.float64)).tolist(),
        "spread_km": np.asarray(spread.value, np.float64).tolist(),
        "near": None,
    }
    if near is not None:
        approach = closest_approach(y, near.lat, near.lon, time=x[:, 0])
        passed = np.asarray(approach.distance)[:, None] < near.km
        share, error = (float(part[0]) for part in probability(passed, lambda values: values))
        picture["near"] = {"probability": share, "error": error}
    return picture
