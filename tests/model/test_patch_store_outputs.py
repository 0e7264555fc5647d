"""A stored field of several outputs has them in the order of the model."""

import numpy as np
import pytest
import xarray as xr

import geomndp as gn
from geomndp.patches import Patches

pytest.importorskip("zarr", reason="the extra `scale` is not installed")

pytestmark = pytest.mark.filterwarnings("ignore:patches of width")  # a small field
GRID = xr.Dataset(coords={"x": np.arange(4) * 0.5, "y": np.arange(4) * 0.5})


@pytest.mark.parametrize("names", [("u", "v"), ("v", "u")])
def test_outputs_are_in_the_order_of_the_model(tmp_path, names):
    law = gn.gp.GP(gn.kernels.DivergenceFree(1.0), noise=0.01)
    posterior = gn.ProcessModel(law).with_variables(("x", "y"), names).condition()
    request = {"key": 0, "num_samples": 1, "patches": Patches(1, 1)}
    stored = posterior.sample(GRID, out=tmp_path / "field.zarr", **request)
    assert tuple(stored.data_vars) == names
    memory = posterior.sample(GRID, **request)
    np.testing.assert_array_equal(stored.to_dataarray(), memory.to_dataarray())
