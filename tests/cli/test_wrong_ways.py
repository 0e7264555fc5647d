"""Wrong ways to use the command line: one sentence that helps, and an exit code that scripts see.

All are refused before anything is compiled, so that none costs more than a moment.
"""

import io
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from geomndp import _table_files
from geomndp.cli.main import COMMANDS, main
from geomndp.cli.usage_errors import options

CONDITION = "condition mast {} --targets 0:6:3"
TRACKS = "condition tracks {} --targets 0:6:3"
WRONG_FILES = {
    "empty.csv": "",
    "header.csv": "time,temperature\n",
    "nan.csv": "time,temperature\n0,14\n3,\n",
    "unobserved.csv": "time,temperature\n0,\n3,\n",
    "twice.csv": "time,temperature,temperature\n0,14,57.2\n",
    "decimal-commas.csv": "time,temperature\n0,14,5\n3,15,5\n",
    "text.csv": "time,temperature\n0,14\n3,warm\n",
    "other.csv": "hour,temperature\n0,14\n",
    "separators.csv": "time;mean,sd\n0;14,5\n",
    "kelvin.csv": "time,temperature [K]\n0,287.2\n",
    "mixed.csv": "time,temperature\n0,14\n2024-03-01,15\n",
    "metres.csv": "time [km],temperature\n0,14\n",
    "radians.csv": "time,lat,lon\n0,0.2,3.1\n1,0.3,3.0\n",
    "beyond.csv": "time,lat,lon\n0,12,170\n1,97,171\n",
    "swapped.csv": "time,lat,lon\n0,170,12\n1,171,13\n",
    "fixes-nan.csv": "time,lat,lon\n0,12,170\n1,13,nan\n",
    "notes.txt": "time,temperature\n0,14\n",
    "broken.nc": "no NetCDF at all",
    "broken.parquet": "no Parquet at all",
    "ragged.csv": "time,temperature\n0,14\n1,2,3,4\n",
    "dated.csv": "time,temperature\n2024-03-01,14\n2024-03-02,15\n",
    "zoned.csv": "time,temperature\n2024-03-01T00:00Z,14\n2024-03-02T00:00Z,15\n",
    "half-zoned.csv": "time,temperature\n2024-03-01,14\n2024-03-02T00:00Z,15\n",
}
WRONG = {
    "no such file": (CONDITION.format("nothing.csv"), "expected a file nothing.csv, got none"),
    "a file of another kind": (CONDITION.format("notes.txt"), "ends in .csv, .parquet, .nc, got"),
    "an empty file": (CONDITION.format("empty.csv"), "got none: No columns"),
    "a table without rows": (CONDITION.format("header.csv"), "got none; geomndp sample needs no"),
    "text for numbers": (CONDITION.format("text.csv"), "numbers in 'temperature', got text"),
    "a wrong column": (CONDITION.format("other.csv"), "a column 'time', got 'hour', 'temperature'"),
    "two separators": (CONDITION.format("separators.csv"), "commas and semicolons in the header,"),
    "nothing observed": (
        CONDITION.format("unobserved.csv"),
        "expected an observed value of 'temperature' in unobserved.csv, got none",
    ),
    "two columns of one name": (
        CONDITION.format("twice.csv"),
        "a column 'temperature', got 'time', 'temperature (column 2)', 'temperature (column 3)'",
    ),
    "decimal commas": (
        CONDITION.format("decimal-commas.csv"),
        "2 names in the header and more values in a row: decimal commas",
    ),
    "too many cells": (CONDITION.format("ragged.csv"), "in ragged.csv, got none: "),
    "other units": (CONDITION.format("kelvin.csv"), "in 'degc', got 'kelvin'; convert it first"),
    "mixed units": (CONDITION.format("mixed.csv"), "expected numbers in 'time', got text"),
    "a length for a time": (CONDITION.format("metres.csv"), "expected 'time' in 'hours', got 'km'"),
    "damaged NetCDF": (CONDITION.format("broken.nc"), "a table in broken.nc, got none: "),
    "damaged Parquet": (
        CONDITION.format("broken.parquet"),
        "a table in broken.parquet, got none: ",
    ),
    "radians for degrees": (TRACKS.format("radians.csv"), "look like radians"),
    "beyond the pole": (TRACKS.format("beyond.csv"), "between -90 and 90 degrees, got 97 in row 1"),
    "latitude and longitude swapped": (TRACKS.format("swapped.csv"), "expected 'lat' between"),
    "a fix without longitude": (TRACKS.format("fixes-nan.csv"), "got NaN or infinity in rows 1"),
    "a field for a track": (TRACKS.format("winds.csv"), "expected a column 'time', got 'x'"),
    "an unknown model": ("sample regression1d/sea --targets 0:1:0.5", "(regression1d/se, "),
    "a model without names": ("sample nameless --targets 0:1:0.5", "that names its inputs"),
    "a damaged model": ("sample damaged --targets 0:1:0.5", "got a foreign or damaged file"),
    "no points": (
        "sample mast --targets 0:6:0pts",
        "expected 1 to 1000000 finite numbers or datetimes",
    ),
    "an endless range": ("sample mast --targets 0:inf:3pts", "expected a range (start:stop:step"),
    "dates in reverse": (
        "sample mast --targets 2024-03-02/2024-03-01/6h",
        "expected 1 to 1000000 finite numbers or datetimes, got '2024-03-02/2024-03-01/6h'",
    ),
    "too many dates": (
        "sample mast --targets 2024-03-01/2024-03-02/1ns",
        "expected a range (start:",
    ),
    "no range": (
        "sample mast --targets 0:6",
        "expected a range (start:stop:step, start:stop:30pts",
    ),
    "a step of the wrong sign": ("sample mast --targets 0:6:-1", "expected start:stop:step with"),
    "points without pts": ("sample mast --targets 0:6:30", "or start:stop:30pts for 30 points"),
    "a step too small": ("sample mast --targets 0:6:1e-9", "2 to 1000000 steps"),
    "an unknown input": (
        "sample mast --targets hour=0:6:1",
        "expected --targets FILE or --targets time=0:1:0.1",
    ),
    "half a grid": ("sample winds --targets x=0:6:1", "--targets x=0:1:0.1 y=0:1:0.1, got x=0:6:1"),
    "an input twice": (
        "sample winds --targets x=0:6:1 x=0:6:2",
        "--targets x=0:1:0.1 y=0:1:0.1, got",
    ),
    "places without the input": (
        "sample winds --targets mast.csv",
        "a column 'x' in --targets, got",
    ),
    "numbers and dates": (
        "condition mast mast.csv --targets dated.csv",
        "numbers for 'time' as in the observations, got datetimes",
    ),
    "some time zones": (CONDITION.format("half-zoned.csv"), "in 'time' all with a time zone or"),
    "targets with a zone": (
        "condition mast dated.csv --targets zoned.csv",
        "datetimes of --targets without a time zone as those of the observations, got with",
    ),
    "a range with a zone": (
        "condition mast dated.csv --targets 2024-03-01T00:00Z/2024-03-02T00:00Z/6h",
        "datetimes of --targets without a time zone as those of the observations, got with",
    ),
    "a task for a time": (
        CONDITION.format("mast.csv") + " --task-column time",
        "expected --task-column beside the model's columns, got its 'time'",
    ),
    "an unknown name in --columns": (
        CONDITION.format("mast.csv") + " --columns hour=time",
        "expected --columns NAME=COLUMN for time, temperature, got 'hour=time'",
    ),
    "an unknown column in --columns": (
        CONDITION.format("mast.csv") + " --columns time=hour",
        "expected a column 'hour' as --columns says, got 'station'",
    ),
    "text for errors": (
        CONDITION.format("mast.csv") + " --obs-std station",
        "numbers in 'station'",
    ),
    "a negative error": (CONDITION.format("mast.csv") + " --obs-std -1", "number >= 0 or a column"),
    "an unknown column of errors": (CONDITION.format("mast.csv") + " --obs-std sd", "got 'sd'"),
    "no origin": (CONDITION.format("mast.csv") + " --origin dawn", "to be a datetime, got 'dawn'"),
    "an origin in space": (
        "sample winds --targets x=0:6:3 y=0:6:3 --origin 2024-03-01",
        "expected an input in days, hours",
    ),
    "no samples": ("sample mast --targets 0:6:3 --num-samples 0", "whole number >= 1, got 0"),
    "one sample for a spread": (
        "sample mast --targets 0:6:3 --num-samples 1 --summary",
        "whole number >= 2, got 1",
    ),
    "no steps": ("sample mast --targets 0:6:3 --steps 0", "steps to be a whole number >= 1"),
    "a level in per cent": (
        "sample mast --targets 0:6:3 --summary --quantiles 5 95",
        "expected quantiles between 0 and 1",
    ),
    "an unknown device": (
        "sample mast --targets 0:6:3 --device abacus",
        "here (cpu), got 'abacus'",
    ),
    "an unknown dtype": ("sample mast --targets 0:6:3 --dtype half", "one of 'float32', 'float64'"),
    "an unknown ending": (
        "sample mast --targets 0:6:3 --out a.xlsx",
        "ends in .nc, .parquet, .csv",
    ),
    "a temperature on a map": (
        "sample mast --targets 0:6:3 --out a.geojson",
        "got the input 'time'",
    ),
    "a folder for a file": ("sample mast --targets 0:6:3 --out folder.nc", "it is a folder"),
    "a file for a folder": (
        "sample mast --targets 0:6:3 --out mast.csv/a.nc",
        "to write mast.csv/a.nc",
    ),
    "a read-only place": (
        "sample mast --targets 0:6:3 --out /proc/a.nc",
        "to write /proc/a.nc, got",
    ),
}


@pytest.fixture
def wrong_files(here: Path):
    for name, text in WRONG_FILES.items():
        (here / name).write_text(text)
    (here / "folder.nc").mkdir()
    (here / "damaged.json").write_text("{}")


@pytest.mark.usefixtures("wrong_files")
def test_a_missing_value_is_no_observation(run, here):
    (here / "one.csv").write_text("time,temperature\n0,14\n")
    answers = [run(CONDITION.format(name)) for name in ("nan.csv", "one.csv")]
    assert [code for code, _, _ in answers] == [0, 0]
    with_gap, without = (pd.read_csv(io.StringIO(out)) for _, out, _ in answers)
    np.testing.assert_allclose(with_gap, without, rtol=1e-4)


@pytest.mark.usefixtures("wrong_files")
@pytest.mark.parametrize("case", WRONG)
def test_a_mistake_gets_one_sentence(case, run, here):
    line, message = WRONG[case]
    before = sorted(here.rglob("*"))
    code, out, error = run(line)
    assert (code, out) == (1, "")
    assert message in error
    assert error.startswith("geomndp: ") and error.count("\n") == 1 and len(error) < 300
    assert sorted(here.rglob("*")) == before


@pytest.mark.parametrize(
    "line", ["sample mast --targets 0:6:3 --out a.parquet", "sample mast --targets a.nc"]
)
def test_a_missing_package_is_named_before_anything_is_computed(line, run, monkeypatch):
    monkeypatch.setattr(_table_files, "find_spec", lambda name: None)
    code, _, error = run(line)
    package, extra = _table_files.NEEDED[line[line.rindex(".") :]]
    assert code == 1 and f"expected {package} for a." in error and f"geomndp[{extra}]" in error


def test_radians_said_by_the_file(run, here):
    lat, lon = np.radians([12.0, 13.0]), np.radians([170.0, 171.0])
    table = pd.DataFrame({"lat": lat, "lon": lon}, index=pd.Index([0.0, 1.0], name="time"))
    dataset = table.to_xarray()
    for name in ("lat", "lon"):
        dataset[name].attrs["units"] = "radians"
    dataset.to_netcdf("radians.nc", engine="h5netcdf")
    code, _, error = run(TRACKS.format("radians.nc"))
    assert code == 1 and "expected 'lat' in 'degrees_north', got 'radians'" in error


USAGE = {
    "": "expected a command (demo, play, list, ",
    "smaple mast": "got 'smaple' (did you mean sample?); see geomndp --help",
    "--targets": "expected a command (demo, play, list, ",
    "sample": "expected MODEL before the options, got none; see geomndp sample --help",
    "sample mast tracks --targets 0:6:3": "expected MODEL before the options, got mast tracks",
    "sample mast": "expected --targets, got none",
    "sample --seed 1 mast": "expected --targets, got none",
    "evaluate --json mast --num x": "expected --num to be a whole number, got 'x'",
    "sample mast --targets 0:6:3 --num-sample 3": "'--num-sample' (did you mean --num-samples?)",
    "sample mast --targets 0:6:3 --n 3": "got '--n' (did you mean --num-samples?)",
    "sample mast --targets 0:6:3 -seed 3": "got '-seed' (did you mean --seed?)",
    "sample mast --targets 0:6:3 --sum": "got '--sum' (did you mean --summary?)",
    "sample mast --targets 0:6:3 --debugg": "got '--debugg' (did you mean --debug?)",
    "sample mast --targets 0:6:3 --xyz": "got '--xyz'; see geomndp sample --help",
    "condition mast mast.csv --targets 0:6:3 --noise 1": "got '--noise' (did you mean --obs-std?)",
    "condition mast mast.csv --targts 0:6:3": "got '--targts' (did you mean --targets?)",
    "evaluate mast --sed 3": "got '--sed' (did you mean --seed?)",
    "reproduce vector-fields --nofigures": "got '--nofigures' (did you mean --no-figures?)",
    "sample mast --targets 0:6:3 -x": "expected an option of this command, got '-x'",
    "sample mast --targets 0:6:3 --num-samples many": "to be a whole number, got 'many'",
    "sample mast --targets 0:6:3 --seed=x": "expected --seed to be a whole number, got 'x'",
    "sample mast --targets 0:6:3 --out": "expected a value after --out, got none",
    "sample mast --targets 0:6:3 --json yes": "expected no value after --json, got 'yes'",
    "sample mast --targets 0:6:3 --quantiles low": "Error parsing --quantiles",
    "condition mast --targets 0:6:3": "expected OBSERVATIONS, a file, before --targets, got none",
    "condition mast --targets x=0:1:3 y=0:1:3": "expected OBSERVATIONS, a file, before --targets",
    "x" * 5000: "see geomndp --help",
    "list mast": "expected no argument before the options, got mast",
}


@pytest.mark.parametrize("line", USAGE)
def test_wrong_usage_gets_one_sentence_and_exit_code_two(line, run):
    code, out, error = run(line)
    assert (code, out) == (2, "")
    assert USAGE[line] in error
    assert error.startswith("geomndp: ") and error.count("\n") == 1 and len(error) < 450


def test_options_are_those_of_the_help(capsys):
    for name, kind in COMMANDS.items():
        with pytest.raises(SystemExit):
            main([name, "--help"])
        shown = set(re.findall(r"(?<![\w/-])--[a-z][a-z-]*", capsys.readouterr().out))
        assert set(options(kind)) == shown - {"--help"}, name
