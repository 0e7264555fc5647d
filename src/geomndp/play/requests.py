"""What a page may ask for: read from JSON, bounded, or refused in one sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from geomndp import _validation
from geomndp._training_log import Range
from geomndp.play.scene import EARTH, GLOBE, GRIDS, LATLON, SAMPLES, TARGETS, Scene

AUTO = "auto"
"""Sampler that answers quickly first, and better after."""
MAX_OBSERVATIONS = 500
MAX_SAMPLES, MAX_STEPS, MAX_SEED = 512, 200, 2**31 - 1
MAX_VALUES = 200_000
"""Most values of all samples of a picture."""
MAX_NUMBER = 1e12
"""Largest size of an input, an output or an error."""
MIN_WIDTH = 1e-5
"""Smallest width of a view, as a share of its ends: single precision tells points apart."""
MAX_KM = 20_100.0
"""Half of the way around the Earth, at least."""
FIELDS = ("observations", "view", "targets", "samples", "seed", "sampler", "steps", "truth", "near")


@dataclass(frozen=True)
class Location:
    """A location on the Earth, and how near to it a track shall pass.

    Attributes:
        lat: Latitude in degrees.
        lon: Longitude in degrees.
        km: Distance.
    """

    lat: float
    lon: float
    km: float


@dataclass(frozen=True, eq=False)
class Request:
    """One picture: observations, where to look, and how to sample.

    Attributes:
        x: Inputs of the observations, shape (n, d).
        y: Their outputs as columns of a table, shape (n, p), NaN where they are missing.
        std: Standard deviation of the observation noise, shape (n,); in km on the globe.
        view: Range of every input.
        targets: Number of targets along an input.
        num_samples: Number of samples.
        seed: Seed of all random numbers.
        sampler: Name of a sampler, or "auto".
        steps: Steps of the sampler, None for its own number.
        truth: Whether the exact law is asked for.
        near: Location whose probability to be passed is asked for.
    """

    x: np.ndarray
    y: np.ndarray
    std: np.ndarray
    view: tuple[Range, ...]
    targets: int
    num_samples: int
    seed: int = 0
    sampler: str = AUTO
    steps: int | None = None
    truth: bool = False
    near: Location | None = None


def read_request(scene: Scene, state: Any) -> Request:
    """Read and check the state of a page.

    Args:
        scene: What is drawn.
        state: Parsed JSON: an object with any of `FIELDS`.

    Returns:
        The request; what is not stated has its default.

    Raises:
        ValueError: If anything is of another form, not finite or out of bounds.
    """
    if not isinstance(state, dict):
        raise ValueError(f"expected the state of a page, got {_validation.brief(state)}")
    for name in state:
        _validation.one_of("part of a state", name, FIELDS)
    default, fewest, most = TARGETS[scene.kind]
    targets = _whole(state, "targets", default, fewest, most)
    num_samples = _whole(state, "samples", SAMPLES[scene.kind], 2, MAX_SAMPLES)
    values = num_samples * len(scene.outputs) * targets ** (2 if scene.kind in GRIDS else 1)
    if values > MAX_VALUES:
        raise ValueError(f"expected at most {MAX_VALUES} values of all samples, got {values}")
    steps = None if state.get("steps") is None else _whole(state, "steps", 1, 1, MAX_STEPS)
    sampler, truth = state.get("sampler", AUTO), state.get("truth", False)
    if not isinstance(sampler, str) or not isinstance(truth, bool):
        raise ValueError("expected the name of a sampler, and true or false for truth, got others")
    return Request(
        *_observations(scene, state.get("observations", [])),
        view=_view(scene, state.get("view")),
        targets=targets,
        num_samples=num_samples,
        seed=_whole(state, "seed", 0, 0, MAX_SEED),
        sampler=sampler,
        steps=steps,
        truth=truth,
        near=_near(scene, state.get("near")),
    )


def _whole(state: dict, name: str, default: int, fewest: int, most: int) -> int:
    value = state.get(name, default)
    if type(value) is not int or not fewest <= value <= most:
        got = _validation.brief(value)
        raise ValueError(f"expected {name} to be a whole number from {fewest} to {most}, got {got}")
    return value


def _number(name: str, value: Any, low: float = -MAX_NUMBER, high: float = MAX_NUMBER) -> float:
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not plain or not low <= value <= high:
        got = _validation.brief(value)
        raise ValueError(f"expected {name} to be a number from {low:g} to {high:g}, got {got}")
    return float(value)


def _observations(scene: Scene, listed: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if not isinstance(listed, list) or len(listed) > MAX_OBSERVATIONS:
        got = len(listed) if isinstance(listed, list) else _validation.brief(listed)
        raise ValueError(f"expected a list of at most {MAX_OBSERVATIONS} observations, got {got}")
    rows = [_observation(scene, i, each) for i, each in enumerate(listed)]
    d, p = len(scene.inputs), len(scene.outputs)
    x, y, std = (np.array([row[part] for row in rows], np.float64) for part in range(3))
    return x.reshape(-1, d), y.reshape(-1, p), std.reshape(-1)


def _observation(scene: Scene, i: int, row: Any) -> tuple[list[float], list[float], float]:
    if not isinstance(row, dict) or not {"x", "y"} <= set(row) <= {"x", "y", "std"}:
        raise ValueError(f"expected x, y and std of observation {i + 1}, got other parts")
    names = scene.variables.input_names, scene.variables.output_names
    for part, listed in zip("xy", names, strict=True):
        if not isinstance(row[part], list) or len(row[part]) != len(listed):
            raise ValueError(f"expected {len(listed)} numbers as {part} of observation {i + 1}")
    bounds = scene.outputs if scene.kind == GLOBE else ((-MAX_NUMBER, MAX_NUMBER),) * len(names[1])
    limited = LATLON if scene.kind == EARTH else ((-MAX_NUMBER, MAX_NUMBER),) * len(names[0])
    x = [
        _number(f"{name} of observation {i + 1}", value, *limits)
        for name, value, limits in zip(names[0], row["x"], limited, strict=True)
    ]
    y = [
        np.nan if value is None else _number(f"{name} of observation {i + 1}", value, *limits)
        for name, value, limits in zip(names[1], row["y"], bounds, strict=True)
    ]
    missing = int(np.isnan(y).sum())
    if missing == len(y) or (missing and not scene.outputs_apart):
        raise ValueError(f"expected a value of every output in observation {i + 1}, got none")
    most = MAX_KM if scene.kind == GLOBE else MAX_NUMBER
    return x, y, _number(f"std of observation {i + 1}", row.get("std", 0.0), 0.0, most)


def _view(scene: Scene, ranges: Any) -> tuple[Range, ...]:
    if ranges is None:
        return scene.inputs
    if not isinstance(ranges, list) or len(ranges) != len(scene.inputs):
        raise ValueError(f"expected {len(scene.inputs)} ranges of the view, got others")
    view = []
    bounds = LATLON if scene.kind == EARTH else ((-MAX_NUMBER, MAX_NUMBER),) * len(ranges)
    for name, pair, limits in zip(scene.variables.input_names, ranges, bounds, strict=True):
        if not isinstance(pair, list) or len(pair) != 2:
            raise ValueError(f"expected the range of {name} as two numbers, got others")
        low, high = (_number(f"the range of {name}", value, *limits) for value in pair)
        if not high - low > MIN_WIDTH * max(abs(low), abs(high)):
            raise ValueError(f"expected {name} from low to high, got {low:g} to {high:g}")
        view.append((low, high))
    return tuple(view)


def _near(scene: Scene, near: Any) -> Location | None:
    if near is None:
        return None
    if scene.kind != GLOBE or not isinstance(near, dict) or set(near) != {"lat", "lon", "km"}:
        raise ValueError("expected lat, lon and km of a location to pass, on a globe, got others")
    lat, lon = _number("lat", near["lat"], -90.0, 90.0), _number("lon", near["lon"], -180.0, 180.0)
    return Location(lat, lon, _number("km", near["km"], 1.0, MAX_KM))
