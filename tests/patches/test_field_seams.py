"""`benchmarks/field_seams.py` on a stored field of the exact process, whose truth is known."""

import jax
import numpy as np
import pytest
import xarray as xr

import geomndp as gn

pytest.importorskip("zarr", reason="the extra `scale` is not installed")

SIDE, CHUNK = 40, 4


@pytest.fixture
def seams(import_benchmark):
    return import_benchmark("field_seams")


@pytest.fixture
def store(seams, tmp_path):
    """One exact draw; the variables and dimensions of its store are in the order of no model."""
    axis = seams.EXACT.spacing * np.arange(SIDE)
    x = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)
    with jax.enable_x64(True):
        law = gn.gp.GP(seams.EXACT.kernel, noise=seams.EXACT.noise)
        y = np.asarray(law.sample(jax.numpy.asarray(x), key=jax.random.key(0)))
    u, v = np.moveaxis(y.reshape(1, SIDE, SIDE, 2), -1, 0)
    dims = ("sample", "x", "y")
    field = xr.Dataset({"v": (dims, v), "u": (dims, u)}, {"x": axis, "y": axis})
    field = field.transpose("sample", "y", "x")
    chunks = {name: {"chunks": (1, CHUNK + 1, CHUNK)} for name in ("u", "v")}
    field.to_zarr(tmp_path / "field.zarr", encoding=chunks, consolidated=False)
    return tmp_path / "field.zarr", u[0], v[0]


def test_outputs_and_axes_do_not_depend_on_the_order_of_the_store(seams, store):
    path, u, v = store
    field, chunks = seams.read_field(path)
    np.testing.assert_array_equal(field[0], np.stack([u, v], axis=-1))
    assert chunks == (CHUNK, CHUNK + 1)


def test_an_exact_field_has_no_error_but_noise(seams, store):
    path, *_ = store
    found = seams.compare(*seams.read_field(path))
    mixed = seams.compare(seams.read_field(path)[0][..., ::-1], (CHUNK, CHUNK + 1))
    for name in ("across, lag 4", "within, lag 2"):
        assert found[name]["systematic"] < 0.15 < mixed[name]["systematic"]
    ratio, error = found["spectrum"]["4 to 8"]
    assert ratio == pytest.approx(1, abs=0.2) and 0.1 < error < 0.3


def test_differences_are_exact_but_at_a_seam_between_patches_of_different_samples(seams, store):
    field, chunks = seams.read_field(store[0])
    for cut, rows in ((field, slice(None)), (field.copy(), np.arange(2 * CHUNK - 1) != CHUNK - 1)):
        if cut is not field:
            odd = np.arange(SIDE) // CHUNK % 2 == 1
            cut[:, odd] *= -1  # a sample of the same law, which does not follow from the other
        ratios, errors = seams.mean_squared_steps(seams.tiles(cut, (CHUNK, chunks[1])))
        assert np.all(np.abs(ratios[rows] - 1) < 5 * errors[rows])
    assert np.all(ratios[CHUNK - 1] > 2)


def test_patches_of_an_unfinished_field_count_where_they_are_whole(seams, store):
    field, chunks = seams.read_field(store[0])
    field[:, 2, :, 0] = np.nan  # the first row of patches
    found = seams.compare(field, chunks)
    assert "spectrum" not in found
    counts = {name: part[2] for name, part in found["variances by parity"].items()}
    assert counts == {"0, 0": 16, "0, 1": 16, "1, 0": 20, "1, 1": 20}
    mean, error, _ = found["variances by parity"]["1, 1"]
    assert mean == pytest.approx(1, abs=5 * error)
