"""Pictures, summaries and scores of odd samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

import geomndp as gn
from fuzz.calls import Attempt
from fuzz.judge import judge_call
from fuzz.twists import Twister
from fuzz.values import NOTHINGS, odd_array
from fuzz.world import World

X1, X2 = np.linspace(0, 1, 4)[:, None], np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [1.0, 2.0]])
Y1, Y2 = np.sin(np.arange(12.0)).reshape(3, 4, 1), np.cos(np.arange(24.0)).reshape(3, 4, 2)


def plot(twist: Twister, world: World) -> Attempt:
    """A picture with odd arrays or tables."""
    name = twist.pick(
        "picture", ["functions_1d", "vector_field", "calibration", "coverage", "track_map"]
    )
    asked: dict[str, Any] = {}
    if name in ("functions_1d", "vector_field"):
        x, y = (X1, Y1) if name == "functions_1d" else (X2, Y2)
        asked = {
            "x": twist("x", x, lambda r: odd_array(r, x)),
            "samples": twist("samples", y, lambda r: odd_array(r, y[r.randrange(3)])),
            "context": twist(
                "context", None, lambda r: r.choice([(x[:2], y[0, :2]), (x, y), *NOTHINGS])
            ),
        }
    elif name == "track_map":
        tracks = np.stack([Y1[..., 0], Y1[..., 0] ** 2, 1 + Y1[..., 0]], axis=-1)
        tracks /= np.linalg.norm(tracks, axis=-1, keepdims=True)
        asked = {"tracks": twist("tracks", tracks, lambda r: odd_array(r, tracks[0]))}
    else:
        pit = np.linspace(0, 1, 12).reshape(3, 4)
        asked = {"pit": twist("pit", pit, lambda r: odd_array(r, pit))}
        asked |= twist("title", {}, lambda r: {"title": r.choice(["a", "", "$x$", "ü"])})
    return {"picture": name, **asked}, lambda: judge_call(lambda: _drawn(name, asked))


def summary(twist: Twister, world: World) -> Attempt:
    """Numbers that summarise odd samples."""
    name = twist.pick(
        "summary", ["mean", "standard_deviation", "quantiles", "describe", "crps", "energy_score"]
    )
    form = twist.pick("kind", ["array", "Dataset", "DataFrame"])
    samples: Any = Y1
    if form == "Dataset":
        samples = xr.Dataset({"u": (("sample", "x"), Y1[..., 0])}, {"x": X1[:, 0]})
    elif form == "DataFrame":
        columns = {"sample": np.repeat(np.arange(3), 4), "x": np.tile(X1[:, 0], 3), "u": Y1.ravel()}
        samples = pd.DataFrame(columns)
        samples.attrs["inputs"] = ["x"]
    samples = twist("samples", samples, lambda r: _odd_samples(r, samples))
    more: tuple = ()
    if name in ("crps", "energy_score"):
        truth = Y1[0] if form == "array" else samples
        more = (twist("truth", truth, lambda r: r.choice([odd_array(r, Y1[0]), *NOTHINGS])),)
    elif name == "quantiles":
        more = (
            twist(
                "levels", (0.1, 0.9), lambda r: r.choice([(), 5, -1.0, "a", (0.5, 2), None, [0.5]])
            ),
        )
    function = getattr(gn.summaries, name)
    return {"summary": name, "samples": samples, "more": more}, lambda: judge_call(
        lambda: function(samples, *more)
    )


def _odd_samples(random, samples: Any) -> Any:
    if isinstance(samples, np.ndarray):
        return random.choice(
            [odd_array(random, samples[0]), samples[:1], samples[:0], samples[:, :0]]
        )
    if isinstance(samples, pd.DataFrame):
        return random.choice(
            (
                lambda: samples.iloc[:5],
                lambda: samples.iloc[::-1],
                lambda: samples.iloc[:0],
                lambda: samples.drop(columns="sample"),
                lambda: samples.assign(u="a"),
                lambda: samples.assign(u=np.nan),
                lambda: samples.assign(sample=1.5),
                lambda: samples.astype(str),
            )
        )()
    return random.choice(
        (
            lambda: samples.isel(sample=0),
            lambda: samples.isel(sample=[]),
            lambda: samples.isel(x=[]),
            lambda: samples.u,
            lambda: samples.astype(str),
            lambda: samples.where(samples.u > 0),
            lambda: samples.rename(sample="other"),
            lambda: samples.rename(u="lat"),
            lambda: samples.drop_vars("u"),
        )
    )()


def _drawn(name: str, asked: dict[str, Any]) -> None:
    """Make the picture, and forget it."""
    import matplotlib.pyplot as plt

    try:
        first, *others = asked.values()
        names = list(asked)[1:]
        getattr(gn.plot, name)(first, **dict(zip(names, others, strict=True)))
    finally:
        plt.close("all")
