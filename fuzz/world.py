"""Tiny models and tables, made once: as a user's would be, in a folder of their own."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import jax.random as jr
import numpy as np
import pandas as pd

import geomndp as gn
from geomndp.data import Normaliser
from geomndp.samplers import Amortised

SMALL = {"width": 4, "num_layers": 1, "num_heads": 1}
STATIONS = "station,time,temperature,sd\nA,0,14.0,0.5\nB,3,16.5,0.5\nC,6,18.5,0.1\n"
WINDS = "x,y,u,v\n0,0,1.0,0.5\n1,0,0.5,0.25\n0,2,0.5,-0.25\n"
FIXES = """time,lat,lon
2031-09-12T00:00Z,10.0,178.0
2031-09-12T06:00Z,11.0,179.5
2031-09-12T12:00Z,12.5,-179.0
"""
STEPS = 2


class Known(NamedTuple):
    """A model with a context and targets that fit it."""

    model: Any
    x: np.ndarray
    y: np.ndarray
    targets: np.ndarray


@dataclass
class World:
    """What cases start from."""

    folder: Path
    known: dict[str, Known]
    sampler: Any
    frames: dict[str, pd.DataFrame]
    """Observations by the names of the models that read them."""
    files: dict[Path, bytes] = field(default_factory=dict)
    """Contents of the folder."""

    def new(self) -> list[str]:
        """Files and folders that were not there at first."""
        there = (path for path in self.folder.rglob("*") if path not in self.files)
        return sorted(str(path.relative_to(self.folder)) for path in there)

    def mend(self) -> None:
        """Make the folder what it was."""
        for name in reversed(self.new()):
            path = self.folder / name
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        for path, content in self.files.items():
            if not path.is_file() or path.read_bytes() != content:
                path.write_bytes(content)


def make_world(folder: Path) -> World:
    """Make models and files."""
    known = {"mast": _mast(), "winds": _winds(), "tracks": _tracks(), "exact": _exact()}
    for name in ("mast", "winds", "tracks"):
        known[name].model.save(folder / name)
    replace(known["mast"].model, variables=None).save(folder / "nameless")
    texts = {"mast": STATIONS, "winds": WINDS, "tracks": FIXES}
    for name, text in texts.items():
        (folder / f"{name}.csv").write_text(text)
    frames = {name: pd.read_csv(folder / f"{name}.csv") for name in texts}
    frames["tracks"]["time"] = pd.to_datetime(frames["tracks"]["time"]).dt.tz_localize(None)
    for name, frame in frames.items():
        frame.to_parquet(folder / f"{name}.parquet")
        inputs = ["x", "y"] if name == "winds" else ["time"]
        table = frame.select_dtypes("number") if name == "mast" else frame
        dataset = table.set_index(inputs).to_xarray()
        dataset.to_netcdf(folder / f"{name}.nc", engine="h5netcdf")
    frames["exact"] = frames["mast"]
    files = {path: path.read_bytes() for path in folder.iterdir()}
    return World(folder, known, Amortised(STEPS), frames, files)


def _mast() -> Known:
    net = gn.nets.RelativeAttention(1, 1, **SMALL, key=jr.key(0))
    score = gn.score.NetworkScore(net, conditional=True)
    model = gn.Model(_flat(gn.kernels.White()), score)
    model = model.with_variables(
        "time", "temperature", units={"time": "hours", "temperature": "degC"}
    )
    x = np.array([[0.0], [3.0], [6.0]])
    return Known(model, x, np.array([[0.5], [1.0], [0.2]]), np.array([[1.0], [5.0]]))


def _winds() -> Known:
    net = gn.nets.RelativeAttention(2, 2, **SMALL, key=jr.key(0))
    score = gn.score.NetworkScore(net, conditional=True)
    model = gn.Model(_flat(gn.kernels.Diagonal(gn.kernels.White(), 2)), score)
    x = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    y = np.array([[1.0, 0.5], [0.5, 0.25], [0.5, -0.25]])
    return Known(model.with_variables(("x", "y"), ("u", "v")), x, y, x[:2] + 0.5)


def _tracks() -> Known:
    net = gn.nets.SphericalAttention(**SMALL, key=jr.key(0))
    score = gn.score.NetworkScore(net, gn.score.PreconditionK(), conditional=True)
    schedule = gn.noising.LinearSchedule(1e-4, 15.0)
    model = gn.Model(gn.noising.Brownian(gn.geometry.Sphere(2), schedule), score)
    model = model.with_variables("time", ("lat", "lon"), units={"time": "days"})
    y = np.array([[1.0, 0.0, 0.0], [0.8, 0.6, 0.0], [0.8, 0.0, 0.6]])
    return Known(model, np.array([[0.0], [0.25], [0.5]]), y, np.array([[0.1], [1.0]]))


def _exact() -> Known:
    gp = gn.gp.GP(gn.kernels.SquaredExponential(1.5), noise=0.01)
    units = Normaliser(x_scale=6.0, y_shift=15.0, y_scale=5.0)
    model = gn.Model(_flat(gn.kernels.White()), gn.score.GaussianScore(gp), normaliser=units)
    model = model.with_variables(
        "time", "temperature", units={"time": "hours", "temperature": "degC"}
    )
    x = np.array([[0.0], [3.0], [6.0]])
    return Known(model, x, np.array([[14.0], [16.5], [18.5]]), np.array([[1.0], [5.0]]))


def _flat(kernel: Any) -> Any:
    return gn.noising.OrnsteinUhlenbeck(kernel, gn.noising.LinearSchedule(0.0, 10.0))
