"""Maps of tracks: data beside samples of a model, and its forecasts with the truth."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import jax.random as jr
import numpy as np

from geomndp import _model_files
from geomndp.data.ibtracs import VARIABLE, Split
from geomndp.experiments.base import Unavailable
from geomndp.experiments.cyclones.evaluate import draw_tracks
from geomndp.experiments.cyclones.protocol import task, task_batch
from geomndp.experiments.cyclones.training import read_split
from geomndp.model import Model, load
from geomndp.plot import fan_map, save_figure, track_map
from geomndp.samplers import Amortised

MODEL = "cyclones/ibtracs"
EXTENT = (0, 360, -60, 75)
"""Longitudes and latitudes of the map of all tracks."""


def figures(results: dict, folder: Path, data: str | None = None) -> Iterator[Path]:
    """Maps of the shipped model's samples and forecasts, where there is an archive of tracks."""
    import matplotlib

    if MODEL not in _model_files.names():
        raise Unavailable(f"no model {MODEL} in this package")
    if data is None and not os.environ.get(VARIABLE):
        raise Unavailable(f"no tracks (give the archive as --data, or set {VARIABLE})")
    matplotlib.use("Agg")
    split = read_split(data, _model_files.metadata(MODEL).get("split", 0))
    model = load(MODEL)
    yield tracks_figure(folder / "cyclones_tracks.png", model, split)
    yield fans_figure(folder / "cyclones_fans.png", model, split)


def tracks_figure(
    path: str | Path, model: Model, split: Split, *, num: int = 200, steps: int = 100, seed: int = 0
) -> Path:
    """Tracks held out above as many samples of the model, which saw the others."""
    import matplotlib.pyplot as plt

    num = min(num, len(split.test))
    rows = np.random.default_rng(seed).permutation(len(split.test))[:num]
    joint = task_batch(task("joint"), split.test.take(rows[:1]))
    drawn = draw_tracks(model, joint, Amortised(steps), 0, num, 1, jr.key(seed))[0]
    figure, axes = plt.subplots(2, 1, figsize=(10, 8.4))
    track_map(split.test.y[rows], ax=axes[0], title=f"{num} storms held out", extent=EXTENT)
    track_map(drawn, ax=axes[1], title=f"{num} samples of the model", extent=EXTENT)
    figure.tight_layout()
    return save_figure(figure, path)


def fans_figure(
    path: str | Path,
    model: Model,
    split: Split,
    *,
    storms: int = 4,
    num_samples: int = 30,
    steps: int = 100,
    seed: int = 0,
) -> Path:
    """Samples given both ends, and given the start, of tracks, with the truth, for some storms."""
    import matplotlib.pyplot as plt

    storms = min(storms, len(split.test))
    rows = np.random.default_rng(seed).permutation(len(split.test))[:storms]
    subset = split.test.take(rows)
    figure, axes = plt.subplots(2, storms, figsize=(3.6 * storms, 7), squeeze=False)
    for line, name in zip(axes, ("interpolation", "extrapolation"), strict=True):
        track_task = task(name)
        tasks, c = task_batch(track_task, subset), len(track_task.context)
        samples = draw_tracks(
            model, tasks, Amortised(steps), c, num_samples, storms, jr.key(seed + 1)
        )
        for i, ax in enumerate(line):
            x, y = tasks.x[i], tasks.y[i]
            title = f"{name}, {subset.sid[i]}"
            known = x[:c], y[:c]
            fan_map(x[c:], samples[i], context=known, truth=y[c:], ax=ax, title=title)
    axes[0, 0].legend(fontsize="small")
    figure.tight_layout()
    return save_figure(figure, path)
