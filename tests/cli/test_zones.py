"""Where a table states a time zone, so do the files that are made of it: their times are in UTC."""

import json
from pathlib import Path

import jax
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import geomndp as gn
from geomndp import ProcessModel
from geomndp._table_files import read_table, write_table
from geomndp.cli import main
from geomndp.gp import GP
from geomndp.kernels import White

TIME = pd.date_range("2024-03-30 22:00", periods=4, freq="3h")
LINE = "condition wind obs.csv --num-samples 2 --targets"
INPUTS = ("time", "lat", "lon")


@pytest.fixture
def wind(tmp_path, monkeypatch):
    """A wind in time and place, observed in Madrid."""
    monkeypatch.chdir(tmp_path)
    units = {"time": "hours", "lat": "degrees_north", "lon": "degrees_east"}
    ProcessModel(GP(White())).with_variables(INPUTS, "speed", units=units).save("wind")
    frame = pd.DataFrame({"time": TIME, "lat": 40.4, "lon": -3.7, "speed": np.arange(4.0)})
    frame.to_csv("naive.csv", index=False)
    frame["time"] = frame["time"].dt.tz_localize("Europe/Madrid", nonexistent="shift_forward")
    frame.assign(task="a").to_csv("obs.csv", index=False)
    frame.drop(columns="speed").to_parquet("at.parquet")
    return frame


def written(line: str) -> xr.Dataset:
    with jax.enable_x64(False):
        assert main([*line.split(), "--out", "a.nc"]) == 0
    with xr.open_dataset("a.nc") as dataset:
        return dataset.load()


def times_in_files(dataset: xr.Dataset) -> list[str]:
    for name in ("a.csv", "a.parquet", "a.geojson"):
        write_table(name, dataset, INPUTS)
    with open("a.geojson") as file:
        properties = json.load(file)["features"][1]["properties"]
    tables = pd.read_csv("a.csv"), pd.read_parquet("a.parquet")
    return [properties["time"], *(str(table["time"][1]) for table in tables)]


def test_every_format_states_the_zone(wind):
    dataset = written(f"{LINE} at.parquet")
    assert dataset["time"].attrs["time_zone"] == "UTC"
    there = "2024-03-31 00:00:00+00:00"
    assert times_in_files(dataset) == ["2024-03-31T00:00:00Z", there, there]
    assert read_table("a.csv").attrs["zoned"] == {"time": True}


def test_a_file_that_states_the_zone_is_read_as_such(wind, capsys):
    written(f"{LINE} at.parquet")
    assert main([*LINE.replace("obs", "naive").split(), "a.nc"]) == 1
    assert "--targets without a time zone as those of the obs" in capsys.readouterr().err
    with xr.open_dataset("a.nc") as dataset:
        observed, other = dataset.isel(sample=0), wind.assign(time=TIME)
        with pytest.raises(ValueError, match="of the locations with a time zone as those of"):
            gn.load("wind").condition(observed).mean(other)


def test_times_without_a_zone_get_none(wind):
    dataset = written(f"{LINE.replace('obs', 'naive')} naive.csv")
    there = "2024-03-31 01:00:00"
    assert times_in_files(dataset) == [there.replace(" ", "T"), there, there]


@pytest.mark.parametrize("times", ["0:6:3", "2024-03-30/2024-03-31/12h"])
def test_typed_times_have_the_zone_of_the_observations(wind, times):
    dataset = written(f"{LINE} time={times} lat=40.4 lon=-3.7")
    assert dataset["time"].attrs["time_zone"] == "UTC" and dataset["time"].dtype.kind == "M"


def test_tasks_state_the_zone_too(wind):
    line = LINE.replace("obs.csv", "--tasks obs.csv")
    dataset = written(f"{line} at.parquet")
    assert dataset["time"].attrs["time_zone"] == "UTC"
    Path("tasks").mkdir()
    dataset.isel(sample=0).drop_vars("task").to_netcdf("tasks/a.nc", engine="h5netcdf")
    assert written(f"{line.replace('obs.csv', 'tasks')} at.parquet").sizes["row"] == len(TIME)
