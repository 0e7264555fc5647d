"""Fields into a Zarr store on the command line: written, resumed, refused."""

import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import geomndp as gn

pytest.importorskip("zarr", reason="the extra `scale` is not installed")

pytestmark = pytest.mark.filterwarnings("ignore:patches of width")  # small fields, small patches
LINE = (
    "condition gp stations.csv --targets a=0:5:0.5 b=0:3.5:0.5 --num-samples 1 "
    "--patches width=2,halo=1 --out field.zarr"
)


@pytest.fixture
def process(here):
    model = gn.ProcessModel(gn.gp.GP(gn.kernels.Matern52(1.0), noise=0.01))
    model.with_variables(("a", "b"), "level").save("gp")
    stations = {"a": [1.0, 3.0], "b": [1.0, 2.0], "level": [2.0, -1.0]}
    pd.DataFrame(stations).to_csv("stations.csv", index=False)


def test_a_field_is_written_and_resumed(run, process):
    code, output, error = run(f"{LINE} --json --scheduler threads")
    assert code == 0, error
    assert json.loads(output)["sizes"] == {"sample": 1, "a": 11, "b": 8}
    field = xr.open_zarr("field.zarr", consolidated=False)
    grid = xr.Dataset(coords={"a": np.arange(11) * 0.5, "b": np.arange(8) * 0.5})
    scheme = gn.patches.Patches(2, 1)
    posterior = gn.load("gp").condition(pd.read_csv("stations.csv"))
    expected = posterior.sample(grid, key=0, num_samples=1, patches=scheme)
    np.testing.assert_allclose(field["level"], expected["level"], atol=1e-5)
    code, output, _ = run(LINE)
    assert code == 0 and "field.zarr" in output
    code, _, error = run(f"{LINE} --seed 1")
    assert code == 1 and "expected the request that began field.zarr" in error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--summary --num-samples 2", "expected samples for field.zarr, got --summary"),
        ("--patches wide", 'expected patches as "auto" or'),
        ("--patches width=2", "expected patches with halo=NUMBER"),
        ("--patches width=2,halo=x", "expected a number for halo"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(run, process, here, options, message):
    code, _, error = run(f"{LINE} {options}")
    assert code == 1 and message in error, error
    assert not list(here.glob("*.zarr"))
