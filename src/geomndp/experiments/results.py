"""Measured results as JSON: gathered while they are measured, shipped with the package.

Every part may be missing. Layout of `regression1d/results.json`:

| part | holds |
|---|---|
| scores | model -> region -> route -> what `evaluate.evaluate` gives |
| calibration | model -> region -> what `calibration.calibration` gives |
| gaps | model -> what `score_error.score_errors` gives |
| curve | model -> list of {steps, seconds, and any of gap_joint, gap_conditional, regret} |
| ablation | experiment -> rows of `ablation.ablation` |
| samplers | model -> {learnt, exact: rows of `samplers`, num_samples, ...} |
| noise | model -> rows of `noise_levels.noise_rows` |
| noise_densities | model -> rows of `noise_densities.density_rows`; of cyclones too |

Layout of `vector_fields/results.json`:

| part | holds |
|---|---|
| scores | model -> route -> what `evaluate.evaluate` gives |
| gaps | model -> what `evaluate.field_score_errors` gives |
| efficiency | model -> list of {functions (null: fresh ones), steps, metrics} |
| physics | model -> what `physics.sample_physics` gives |
| elsewhere | model -> what `unseen_locations.evaluate_unseen` gives |
| densities | model -> design -> what `densities.regret_at` gives |
| step_times | list of {case, milliseconds, and any of device, batch} |

A pair [mean, standard error] is a measurement. Shipped models carry their own metrics (`ship`).
Plain Python: printing tables needs no JAX.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from geomndp import _atomic_io, _model_files


def read(path: str | os.PathLike) -> dict:
    """Results of a file.

    Args:
        path: JSON file.

    Returns:
        Its content; empty if there is no file.

    Raises:
        ValueError: If the file holds no results.
    """
    path = Path(path)
    if not path.exists():
        return {}
    try:
        content = json.loads(path.read_bytes())
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"expected results in {path}, got a damaged file") from error
    if not isinstance(content, dict):
        raise ValueError(f"expected results in {path}, got a foreign file")
    return content


def write(path: str | os.PathLike, content: dict) -> None:
    """Write JSON."""
    _atomic_io.write(path, json.dumps(content, indent=1, allow_nan=False) + "\n")


def lookup(content: dict, *keys: str):
    """What stands at nested keys, None if nothing does."""
    for name in keys:
        content = content.get(name, {})
    return content or None


def update(path: str | os.PathLike, keys: tuple[str, ...], value) -> None:
    """Put one result into a file, which is written anew.

    Args:
        path: JSON file, made if there is none.
        keys: Keys from the outermost, such as ("scores", model, region, route).
        value: JSON-serialisable result.
    """
    content = read(path)
    inner = content
    for name in keys[:-1]:
        inner = inner.setdefault(name, {})
    inner[keys[-1]] = value
    write(path, content)


def mean_and_error(values: Sequence[float] | np.ndarray) -> list[float]:
    """A measurement as results hold it: the mean of values and its standard error."""
    return [float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))]


def ship(path: str | os.PathLike, target: Path, models: Path) -> None:
    """Move results into the source tree: scores to the models' cards, all else to `target`.

    For maintainers, by tools/ship.py. In a model's metrics the conditional route stands for a
    region, the joint route inside it. Scores without regions are those of interpolation.

    Args:
        path: File of results to move.
        target: The `results.json` of an experiment.
        models: Folder of the models whose cards are written.
    """
    content = read(path)
    for name, regions in content.pop("scores", {}).items():
        notes = _model_files.document(models / name)["metadata"]
        if "conditional" in regions:
            regions = {"interpolation": regions}
        for region, routes in regions.items():
            metrics = dict(routes["conditional"])
            if "joint" in routes:
                metrics["joint"] = routes["joint"]
            notes.setdefault("metrics", {})[region] = metrics
        _model_files.write_metadata(models / name, notes)
    write(target, merge(read(target), content))


def merge(old: dict, new: dict) -> dict:
    """Both, parts within parts; where they disagree, the new."""
    result = dict(old)
    for name, value in new.items():
        both = isinstance(value, dict) and isinstance(old.get(name), dict)
        result[name] = merge(old[name], value) if both else value
    return result
