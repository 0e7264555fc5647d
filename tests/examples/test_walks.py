"""The walks under examples/ arrive, on the smallest sizes that take every step."""

import importlib.util
import re
from pathlib import Path

import pandas as pd
import pytest
import xarray as xr

from geomndp import load
from geomndp.cli.main import COMMANDS, parse

FOLDER = Path(__file__).parents[2] / "examples"


def walk(name: str):
    """The function of a script that does it all."""
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.walk


def test_stations_to_field(tmp_path, capsys):
    share = walk("stations_to_field")(tmp_path, points=3, num_samples=2, steps=1)
    assert 0 <= share <= 1 and "geomndp condition" in capsys.readouterr().out
    with xr.open_dataset(tmp_path / "field.nc") as field:
        assert field.u_mean.dims == ("x", "y") and field.sizes == {"x": 3, "y": 3}


def test_storm_to_tracks(tmp_path):
    at = "2031-09-14T06/2031-09-14T18/6h"
    tracks = walk("storm_to_tracks")(tmp_path, num_samples=2, steps=1, at=at)
    assert len(tracks) == 2 and len(tracks[1]["properties"]["time"]) == 3


def test_own_data(run_page, tmp_path):
    """The script as people start it."""
    sizes = f"--steps 1 --days 3 --new 1 --num-samples 3 --out {tmp_path}"
    script = str(FOLDER / "own_data.py")
    printed = run_page(
        f"import runpy, sys\nsys.argv = {[script, *sizes.split()]}\n"
        f"runpy.run_path({script!r}, run_name='__main__')\n"
    )
    found = dict(re.findall(r"^([\w ]+): (-?[\d.]+)$", printed, re.MULTILINE))
    assert float(found["nats"]) < float(found["nats of the truth"]) and float(found["CRPS"]) > 0
    line = re.search(r"^now: geomndp (.*)$", printed, re.MULTILINE)
    assert line is not None
    asked = parse(line[1].split(), COMMANDS)
    readings = pd.read_csv(asked.observations)
    assert len(load(asked.name).condition(readings).observations.x) == len(readings) == 6


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_every_walk_says_how_it_is_run(path):
    assert f"python examples/{path.name} --out" in path.read_text(encoding="utf-8")
