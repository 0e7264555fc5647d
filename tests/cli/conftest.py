"""Small models with names, saved as a user's would be, and files of observations."""

import dataclasses
import json

import jax
import jax.random as jr
import pytest

from geomndp import Model
from geomndp.cli import main
from geomndp.geometry import Sphere
from geomndp.kernels import Diagonal, White
from geomndp.model import TrainingSupport
from geomndp.nets import RelativeAttention, SphericalAttention
from geomndp.noising import Brownian, LinearSchedule, OrnsteinUhlenbeck
from geomndp.score import NetworkScore, PreconditionK

SMALL = {"width": 4, "num_layers": 1, "num_heads": 1, "dtype": "float32", "key": jr.key(0)}
STATIONS = "station,time,temperature\nA,0,14.0\nB,3,16.5\nC,6,18.5\n"
WINDS = "x,y,u,v\n0,0,1.0,0.5\n1,0,0.5,0.25\n"
FIXES = """ISO_TIME,LAT,LON
2031-09-12T00:00Z,10.0,178.0
2031-09-12T06:00Z,11.0,179.5
2031-09-12T12:00Z,12.5,-179.0
"""


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """Untrained models of a temperature in time, of winds in the plane, and of tracks."""
    folder = tmp_path_factory.mktemp("models")
    with jax.enable_x64(False):  # as the command line computes
        save_models(folder)
    return folder


def save_models(folder):
    schedule = LinearSchedule(0.0, 10.0)
    score = NetworkScore(RelativeAttention(1, 1, **SMALL), conditional=True)
    units = {"time": "hours", "temperature": "degC"}
    model = Model(OrnsteinUhlenbeck(White(), schedule), score)
    model.with_variables("time", "temperature", units=units).save(folder / "mast")
    model.save(folder / "nameless")
    known = TrainingSupport(((0.0, 24.0),), ((-10.0, 40.0),), (24.0,), 1.0, 24, 12, (0.0, 4.0))
    record = dataclasses.replace(model, support=known)
    record.with_variables("time", "temperature", units=units).save(folder / "trained")
    score = NetworkScore(RelativeAttention(2, 2, **SMALL), conditional=True)
    winds = Model(OrnsteinUhlenbeck(Diagonal(White(), 2), schedule), score)
    winds.with_variables(("x", "y"), ("u", "v")).save(folder / "winds")
    score = NetworkScore(SphericalAttention(**SMALL), PreconditionK(), conditional=True)
    tracks = Model(Brownian(Sphere(2), LinearSchedule(1e-4, 15.0)), score)
    tracks.with_variables("time", ("lat", "lon"), units={"time": "days"}).save(folder / "tracks")


@pytest.fixture
def here(tmp_path, monkeypatch, models):
    """A folder with the files of observations, where the command line is used."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("mast", STATIONS), ("winds", WINDS), ("fixes", FIXES)):
        (tmp_path / f"{name}.csv").write_text(text)
    for path in models.iterdir():
        (tmp_path / path.name).symlink_to(path)
    return tmp_path


@pytest.fixture
def run(here, capsys):
    """Run a command in a line; return its exit code, output and errors."""

    def call(line: str):
        capsys.readouterr()
        code = main(line.split())
        seen = capsys.readouterr()
        return code, seen.out, seen.err

    return call


@pytest.fixture
def run_json(run):
    """Run a command that must succeed and print JSON."""

    def call(line: str):
        code, out, error = run(f"{line} --json")
        assert code == 0, error
        return json.loads(out)

    return call
