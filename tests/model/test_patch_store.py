"""Fields in a Zarr store: the same as in memory, resumed to the bit, refused where they differ."""

import os
import signal
import subprocess
import sys
import time

import jax
import jax.random as jr
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import geomndp as gn
from geomndp.geometry.geodesy import to_unit
from geomndp.model.patch_store import begin_field
from geomndp.patches import Patches
from geomndp.tables import name_variables
from geomndp.train.lock import hold

zarr = pytest.importorskip("zarr", reason="the extra `scale` is not installed")

pytestmark = pytest.mark.filterwarnings("ignore:patches of width")  # small fields, small patches
GP = gn.gp.GP(gn.kernels.Matern52(1.0), noise=0.01)
UNITS = {"a": "m", "level": "K"}
MODEL = gn.ProcessModel(GP).with_variables(("a", "b"), "level", units=UNITS)
OBSERVED = pd.DataFrame({"a": [1.0, 3.0], "b": [1.0, 2.0], "level": [2.0, -1.0]})
GRID = xr.Dataset(coords={"a": np.arange(12) * 0.5, "b": np.arange(8) * 0.5})
REQUEST = {"key": 0, "num_samples": 2, "patches": Patches(2, 1)}


def posterior():
    return MODEL.condition(OBSERVED)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    out = tmp_path_factory.mktemp("store") / "whole.zarr"
    return posterior().sample(GRID, out=out, **REQUEST).load()


def test_a_store_has_the_values_names_units_and_chunks_of_the_field(whole):
    memory = posterior().sample(GRID, **REQUEST)
    np.testing.assert_array_equal(whole["level"].values, memory["level"].values)
    assert whole["level"].dims == ("sample", "a", "b")
    assert whole["level"].attrs["units"] == "K" and whole["a"].attrs["units"] == "m"
    assert whole["level"].encoding["chunks"] == (2, 4, 4)  # 2 m of points 0.5 m apart


def test_a_field_that_was_stopped_goes_on_to_the_same_bits(whole, tmp_path):
    out = tmp_path / "field.zarr"

    class Stopped(Exception):
        pass

    def stop_after(count):
        def report(done):
            if done >= count:
                raise Stopped

        return report

    for count in (1, 3, 5):
        with pytest.raises(Stopped):
            posterior().sample(GRID, out=out, **REQUEST, progress=stop_after(count))
        partly = xr.open_zarr(out, consolidated=False)
        assert np.isnan(partly["level"].values).any()
    drawn = []
    result = posterior().sample(GRID, out=out, **REQUEST, progress=drawn.append)
    assert drawn[0] == 5  # those before were not drawn again
    np.testing.assert_array_equal(result["level"].values, whole["level"].values)


def test_a_patch_whose_mark_is_damaged_is_drawn_again(whole, tmp_path):
    out = tmp_path / "field.zarr"
    posterior().sample(GRID, out=out, **REQUEST)
    (out / "patches" / "done" / "c" / "2").write_bytes(b"")
    result = posterior().sample(GRID, out=out, **REQUEST)
    np.testing.assert_array_equal(result["level"].values, whole["level"].values)


def test_the_scheme_of_a_field_that_was_begun_is_the_default(whole, tmp_path):
    out = tmp_path / "field.zarr"
    begin_field(posterior(), GRID, out, jr.key(0), 2, Patches(2, 1))
    result = posterior().sample(GRID, key=0, num_samples=2, out=out)
    np.testing.assert_array_equal(result["level"].values, whole["level"].values)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"key": 1}, r"key \(there"),
        ({"num_samples": 3}, "num_samples"),
        ({"patches": Patches(2, 2)}, r"patches \(.*halo: there"),
    ],
)
def test_another_request_is_refused_by_name(tmp_path, change, match):
    out = tmp_path / "field.zarr"
    begin_field(posterior(), GRID, out, jr.key(0), 2, Patches(2, 1))
    with pytest.raises(ValueError, match=match):
        posterior().sample(GRID, out=out, **{**REQUEST, **change})


def test_another_model_context_or_grid_is_refused(tmp_path):
    out = tmp_path / "field.zarr"
    begin_field(posterior(), GRID, out, jr.key(0), 2, Patches(2, 1))
    with pytest.raises(ValueError, match="another: posterior"):
        MODEL.condition(OBSERVED[:1]).sample(GRID, out=out, **REQUEST)
    with pytest.raises(ValueError, match="another: targets"):
        posterior().sample(GRID.isel(a=slice(1, None)), out=out, **REQUEST)
    with hold(out / "patches"), pytest.raises(ValueError, match="no other process writes"):
        posterior().sample(GRID, out=out, **REQUEST)


def test_what_is_no_store_of_a_field_is_refused_and_left_alone(tmp_path):
    other = tmp_path / "other.zarr"
    other.mkdir()
    (other / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="got something else"):
        posterior().sample(GRID, out=other, **REQUEST)
    assert (other / "notes.txt").read_text() == "mine"
    with pytest.raises(ValueError, match=r"ends in \.zarr"):
        posterior().sample(GRID, out=tmp_path / "field.nc", **REQUEST)
    with pytest.raises(ValueError, match="expected names of inputs and outputs for a store"):
        gn.ProcessModel(GP).condition().sample(np.zeros((3, 2)), out=tmp_path / "x.zarr", key=0)


def test_scattered_points_stand_in_the_order_of_their_patches(tmp_path):
    x = np.random.default_rng(0).uniform(0, 5, (40, 2))
    scheme = Patches(3, 1, max_points=32, stride=2)
    options = {"key": 0, "num_samples": 2, "patches": scheme}
    stored = posterior().sample(x, out=tmp_path / "field.zarr", **options).load()
    memory = np.asarray(posterior().sample(x, **options))[:, :, 0]
    np.testing.assert_array_equal(stored["a"], x[stored["row"].values, 0])
    np.testing.assert_allclose(stored["level"], memory[:, stored["row"].values], atol=1e-5)


def test_values_that_float32_cannot_hold_are_float64(tmp_path):
    units = gn.data.Normaliser(y_shift=1e8)
    far = gn.ProcessModel(GP, units).with_variables(("a", "b"), "level").condition()
    plain = gn.ProcessModel(GP).with_variables(("a", "b"), "level").condition()
    with jax.enable_x64(False):
        stored = far.sample(GRID, out=tmp_path / "field.zarr", **REQUEST)["level"]
        memory = far.sample_values(GRID, **REQUEST)
        expected = np.asarray(plain.sample_values(GRID, **REQUEST))
    assert stored.dtype == memory.dtype == np.float64
    flat = stored.values.reshape(expected.shape)
    np.testing.assert_allclose(flat - 1e8, expected, atol=1e-5)
    np.testing.assert_allclose(np.asarray(memory) - 1e8, expected, atol=1e-5)


def test_unit_vectors_are_stored_by_latitude_and_longitude(tmp_path):
    kernel = gn.kernels.ZonalExponential(0.5)
    names = name_variables(("lat", "lon"), ("u",), "real", domain="sphere")
    globe = gn.ProcessModel(gn.gp.GP(kernel, noise=0.01), variables=names).condition()
    lat, lon = np.linspace(-80, 80, 20), np.linspace(-170, 170, 20)
    options = {"key": 0, "num_samples": 1, "patches": Patches(0.9, 0.6)}
    vectors = np.asarray(to_unit(lat, lon))
    stored = globe.sample(vectors, out=tmp_path / "field.zarr", **options)
    np.testing.assert_allclose(stored["lat"], lat[stored["row"].values], atol=1e-9)
    np.testing.assert_allclose(stored["lon"], lon[stored["row"].values], atol=1e-9)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"mask": np.ones(96)}, "no mask"),
        ({"sampler": gn.samplers.Amortised(2)}, "expected no sampler for the law of a process"),
        ({"scheduler": "thread"}, "expected (scheduler None|dask)"),
    ],
)
def test_a_request_that_is_refused_begins_no_store(tmp_path, change, match):
    with pytest.raises(ValueError, match=match):
        posterior().sample(GRID, out=tmp_path / "field.zarr", **{**REQUEST, **change})
    assert not list(tmp_path.iterdir())


def test_the_same_points_in_another_order_are_another_request(tmp_path):
    x = np.random.default_rng(0).uniform(0, 5, (40, 2))
    begin_field(posterior(), x, tmp_path / "field.zarr", jr.key(0), 2, Patches(2, 1))
    with pytest.raises(ValueError, match="another: targets"):
        posterior().sample(x[::-1], out=tmp_path / "field.zarr", **REQUEST)


SCRIPT = """
import sys, numpy as np, xarray as xr, geomndp as gn
model = gn.load(sys.argv[1])
grid = xr.Dataset(coords={"a": np.arange(40) * 0.5, "b": np.arange(40) * 0.5})
model.condition().sample(
    grid, key=0, num_samples=1, patches=gn.patches.Patches(3, 2), out=sys.argv[2], progress=False
)
"""


@pytest.mark.slow
def test_three_kills_give_the_bits_of_an_unbroken_run(tmp_path):
    MODEL.save(tmp_path / "model")
    script = tmp_path / "draw.py"
    script.write_text(SCRIPT)

    def start(out):
        model = tmp_path / "model.safetensors"
        return subprocess.Popen([sys.executable, script, model, out], env={**os.environ})

    assert start(tmp_path / "whole.zarr").wait() == 0
    out, marks = tmp_path / "field.zarr", tmp_path / "field.zarr" / "patches" / "done" / "c"
    for count in (5, 15, 30):
        run = start(out)
        while run.poll() is None and len(list(marks.glob("*"))) < count:
            time.sleep(0.01)
        run.send_signal(signal.SIGKILL)
        assert run.wait() == -signal.SIGKILL
    assert 30 <= len(list(marks.glob("*"))) < 49
    assert start(out).wait() == 0
    stores = [xr.open_zarr(path, consolidated=False) for path in (out, tmp_path / "whole.zarr")]
    both = [store["level"].values for store in stores]
    np.testing.assert_array_equal(*both)
    assert np.isfinite(both[0]).all()


class KillOneWorker:
    """A report of progress that kills the process of a worker when the first patches are done."""

    def __init__(self, client):
        self.client, self.killed, self.last = client, 0, 0

    def __call__(self, done):
        self.last = done
        if done and not self.killed:
            self.killed = next(iter(self.client.run(os.getpid).values()))
            os.kill(self.killed, signal.SIGKILL)


@pytest.mark.slow  # starts processes
@pytest.mark.filterwarnings("ignore")  # of the cluster itself
def test_threads_and_processes_one_of_which_dies_give_the_same_bits(whole, tmp_path):
    distributed = pytest.importorskip("distributed")
    out = tmp_path / "threads.zarr"
    result = posterior().sample(GRID, out=out, scheduler="threads", **REQUEST)
    np.testing.assert_array_equal(result["level"].values, whole["level"].values)
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        out = tmp_path / "processes.zarr"
        progress = KillOneWorker(client)
        request = {**REQUEST, "progress": progress}
        result = posterior().sample(GRID, out=out, scheduler=client, **request)
    assert progress.killed and progress.last == 6  # patches, none of them twice
    np.testing.assert_array_equal(result["level"].values, whole["level"].values)


def test_a_store_needs_names(tmp_path):
    nameless = gn.ProcessModel(GP).condition()
    with pytest.raises(ValueError, match="expected names of inputs and outputs for a store, got"):
        nameless.sample(np.zeros((2, 2)), out=tmp_path / "field.zarr", **REQUEST)
