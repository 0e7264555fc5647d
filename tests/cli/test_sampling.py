"""Files in, files out: what is written means what the library gives, and is there whole."""

import json
from io import StringIO

import jax
import jax.random as jr
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from numpy.testing import assert_allclose, assert_array_equal

from geomndp import load
from geomndp.geometry.geodesy import to_unit
from geomndp.model import sampling
from geomndp.samplers import MomentMatching, adams
from geomndp.tables.geojson import cut

FEW = "--num-samples 3 --steps 2"


def test_every_ending_holds_the_same_samples(run_json, here):
    """Those of the library with the same seed; the same command, the same samples."""
    line = f"condition mast mast.csv --targets 1:5:2 {FEW} --dtype float64"
    tables = [run_json(line)]
    for ending in ("csv", "parquet", "nc"):
        found = run_json(f"{line} --out made/a.{ending}")
        assert found["sizes"] == {"sample": 3, "time": 3} and found["variables"] == ["temperature"]
    frames = [pd.read_csv("made/a.csv"), pd.read_parquet("made/a.parquet"), pd.DataFrame(*tables)]
    with xr.open_dataset("made/a.nc") as dataset:
        draws = dataset.load()
    assert draws.temperature.dims == ("sample", "time")
    assert draws.temperature.attrs["units"] == frames[1].attrs["units"]["temperature"] == "degC"
    for frame in frames:
        assert list(frame) == ["sample", "time", "temperature"]
        # JSON has ten decimals.
        assert_allclose(frame.temperature, draws.temperature.values.reshape(-1), atol=1e-10)
    posterior = load("mast").condition(pd.read_csv("mast.csv"))
    options = {"key": jr.key(0), "num_samples": 3, "sampler": adams(2)}
    expected = posterior.sample(np.array([[1.0], [3.0], [5.0]]), **options)
    assert_allclose(draws.temperature, expected[..., 0])
    assert [path.name for path in sorted((here / "made").iterdir())] == [
        "a.csv",
        "a.nc",
        "a.parquet",
    ]


def test_samplers_by_name_with_their_options(run, run_json):
    """Those of the library; wrong names and options are one sentence."""
    line = "condition mast mast.csv --targets 1:5:2 --num-samples 3 --dtype float64"
    drawn = run_json(f"{line} --sampler moment-matching:steps=3")
    posterior = load("mast").condition(pd.read_csv("mast.csv"))
    options = {"key": jr.key(0), "num_samples": 3, "sampler": MomentMatching(3)}
    expected = posterior.sample(np.array([[1.0], [3.0], [5.0]]), **options)
    assert_allclose([row["temperature"] for row in drawn], expected.reshape(-1), atol=1e-9)
    assert run_json(f"{line} --sampler moment-matching --steps 3") == drawn
    for sampler, known in (
        ("magic", "'amortised'"),
        ("flow:speed=3", "speed"),
        ("flow:3", "OPTION"),
    ):
        code, _, error = run(f"{line} --sampler {sampler}")
        assert code == 1 and known in error


def test_options_of_the_last_release_work_with_a_line_that_names_the_new(run):
    line = f"condition mast mast.csv {FEW} --summary"
    code, new, _ = run(f"{line} --targets 1:5:2 --obs-std 0.1 --quantiles 0.1 0.9")
    again, old, error = run(f"{line} --at 1:5:2 --error=0.1 --levels 0.1 0.9")
    assert code == again == 0 and new == old
    for name, other in {"at": "targets", "error": "obs-std", "levels": "quantiles"}.items():
        assert error.count(f"geomndp: warning: --{name} is deprecated: use --{other}\n") == 1


def test_sampling_is_conditioning_on_nothing(run):
    (code, drawn, _), prior = run(f"sample mast --targets 1:5:2 {FEW}"), load("mast").condition()
    options = {"key": jr.key(0), "num_samples": 3, "sampler": adams(2)}
    expected = prior.sample(np.array([[1.0], [3.0], [5.0]], np.float32), **options)
    assert code == 0
    assert_allclose(pd.read_csv(StringIO(drawn)).temperature, expected.reshape(-1), rtol=1e-5)


def test_observations_of_every_kind_of_file(run, here):
    """NetCDF, Parquet and CSV, under names and in units of their own."""
    frame = pd.read_csv("mast.csv").assign(time=[0, 180, 360])
    frame.attrs["units"] = {"time": "minutes"}
    frame.to_parquet("minutes.parquet")
    dataset = frame.set_index("time").temperature.to_xarray().to_dataset(name="t2m")
    dataset.time.attrs["units"] = "minutes"
    dataset.to_netcdf("minutes.nc", engine="h5netcdf")
    (here / "minutes.csv").write_text("time [min],temperature\n0,14\n180,16.5\n360,18.5\n")
    ask = f"--targets 1:5:2 {FEW}"
    code, expected, _ = run(f"condition mast mast.csv {ask}")
    assert code == 0
    for name in ("minutes.parquet", "minutes.csv", "minutes.nc --columns temperature=t2m"):
        code, found, _ = run(f"condition mast {name} {ask}")
        assert (code, found) == (0, expected)


def test_a_field_with_its_uncertainty(run_json):
    line = "condition winds winds.csv --targets x=-1:1:3pts y=0:1:0.5 --obs-std 0.1 --device cpu"
    line = f"{line} {FEW}"
    run_json(f"{line} --summary --quantiles 0.1 0.9 --out field.nc")
    with xr.open_dataset("field.nc") as field:
        assert field.u_sd.dims == ("x", "y") and field.u_sd.dtype == "float32"
        assert {"u_mean", "u_mean_error", "v_q10", "v_q90"} <= set(field)
        assert_array_equal(field.y, [0.0, 0.5, 1.0])
    run_json(f"{line} --out field.geojson")
    with open("field.geojson") as file:
        features = json.load(file)["features"]
    assert len(features) == 3 * 9
    assert features[1]["geometry"] == {"type": "Point", "coordinates": [-1.0, 0.5]}
    assert set(features[1]["properties"]) == {"sample", "u", "v"}


def test_tracks_on_a_map(run_json, run):
    line = "condition tracks fixes.csv --columns time=ISO_TIME lat=LAT lon=LON --obs-std 20"
    run_json(f"{line} --targets 0:1:0.25 {FEW} --out tracks.geojson")
    run_json(f"{line} --targets 2031-09-12/2031-09-13/6h {FEW} --out tracks.nc")
    run_json(f"{line} --targets 2031-09-12/2031-09-13/6h {FEW} --summary --out mean.geojson")
    with open("tracks.geojson") as file:
        features = json.load(file)["features"]
    with xr.open_dataset("tracks.nc") as tracks:
        # Days since the first fix are these datetimes.
        assert features[2]["properties"]["time"][1] == f"{tracks.time.values[1].astype(str)[:19]}Z"
        for i, feature in enumerate(features):
            line = feature["geometry"]["coordinates"]
            parts = line if feature["geometry"]["type"] == "MultiLineString" else [line]
            places = np.array([p for part in parts for p in part if abs(p[0]) != 180])
            assert_allclose(places[:, 1], tracks.lat[i], atol=1e-4)
            assert feature["properties"]["sample"] == i
    with open("mean.geojson") as file:
        line, *points = json.load(file)["features"]
    assert line["properties"]["sample"] == "mean" and len(points) == 5
    assert set(points[0]["properties"]) == {"time", "error", "spread", "spread_error"}


def test_times_count_from_an_origin(run_json):
    """A storm first seen a day after it was born, and one that was never seen."""
    columns = "--columns time=ISO_TIME lat=LAT lon=LON --obs-std 20"
    for command in (f"condition tracks fixes.csv {columns}", "sample tracks"):
        found = run_json(f"{command} --targets 1:2:0.25 {FEW} --origin 2031-09-11T01:00+01:00")
        assert sorted({row["time"][:16] for row in found}) == [
            "2031-09-12T00:00",
            "2031-09-12T06:00",
            "2031-09-12T12:00",
            "2031-09-12T18:00",
            "2031-09-13T00:00",
        ]


def test_errors_of_every_row(run, here):
    """A column of standard deviations; equal ones are one number."""
    text = "time,temperature,sd\n0,14,0.5\n3,16.5,0.5\n6,18.5,0.5\n"
    (here / "errors.csv").write_text(text)
    first = run(f"condition mast errors.csv --targets 1:5:2 {FEW} --obs-std sd")
    second = run(f"condition mast errors.csv --targets 1:5:2 {FEW} --obs-std 0.5")
    assert first[:2] == second[:2] and first[0] == 0


def test_a_line_is_cut_at_the_date_line():
    """Where the great circle meets it, both ways, as often as it does."""
    lat, lon = np.array([0.0, 10.0, 10.0, 20.0]), np.array([170.0, 179.0, -179.0, 179.0])
    first, second, third = cut(lat, lon)
    assert_array_equal(first[:2], [[170.0, 0.0], [179.0, 10.0]])
    assert first[2, 0] == 180 and second[0, 0] == -180 and second[2, 0] == -180
    # By symmetry halfway, and nearer to the pole than the parallel.
    height = np.degrees(np.arctan(np.tan(np.radians(10.0)) / np.cos(np.radians(1.0))))
    assert_allclose([first[2, 1], second[0, 1]], height)
    assert_array_equal(second[1], [-179.0, 10.0])
    assert_array_equal(third[-1], [179.0, 20.0])
    (whole,) = cut(lat, np.abs(lon))
    assert_array_equal(whole, np.stack([np.abs(lon), lat], axis=1))


@pytest.mark.parametrize("end", [-177.0, -150.0])
def test_a_line_is_cut_on_its_great_circle(end):
    """Also where the two ends are not at the same distance from the date line."""
    lat, lon = np.array([-5.0, 30.0]), np.array([176.0, end])
    first, second = cut(lat, lon)
    a, b = to_unit(lat, lon)
    meeting = to_unit(first[-1, 1], first[-1, 0])
    assert_allclose(np.cross(a, b) @ meeting, 0.0, atol=1e-12)
    assert -5 < first[-1, 1] < 30 and first[-1, 1] == second[0, 1]


def test_samples_in_blocks(run, monkeypatch):
    """No sample is a copy of another, whichever block it is in."""
    monkeypatch.setattr(sampling, "BLOCK_POINTS", {"cpu": 6})
    code, out, _ = run("sample mast --targets 0:6:3 --num-samples 3 --steps 2")
    values = pd.read_csv(StringIO(out))
    assert code == 0 and list(values["sample"]) == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert values.temperature.nunique() == 9


def test_places_of_a_file_keep_their_other_columns(run, here):
    (here / "where.csv").write_text("site,time\nnorth,1\nsouth,3\nsouth,5\n")
    assert run(f"condition mast mast.csv --targets where.csv {FEW} --out draws.csv")[0] == 0
    found = pd.read_csv("draws.csv")
    assert set(found) == {"sample", "site", "time", "temperature"}
    assert list(found.site[:3]) == ["north", "south", "south"]


def test_ctrl_c_leaves_nothing_and_says_how_to_go_on(run, here, monkeypatch):
    def stop(_, path, **options):
        path.write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(xr.Dataset, "to_netcdf", stop)
    before = sorted(path.name for path in here.iterdir())
    code, out, error = run(f"condition mast mast.csv --targets 1:5:2 {FEW} --out draws.nc")
    assert (code, out) == (130, "")
    assert "the same seed gives the same samples; nothing half-written is left" in error
    assert sorted(path.name for path in here.iterdir()) == before


def test_precision_is_as_asked_and_left_as_it_was(run):
    line = f"condition mast mast.csv --targets 1:5:2 {FEW} --out a.nc"
    for dtype in ("float32", "float64"):
        assert run(f"{line} --dtype {dtype}")[0] == 0
        with xr.open_dataset("a.nc") as found:
            assert found.temperature.dtype == dtype
    assert jax.config.jax_enable_x64
