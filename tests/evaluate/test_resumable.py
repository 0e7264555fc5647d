"""Measurements in blocks: the same on two devices, kept, taken up again, refused if foreign."""

import os
import subprocess
import sys
from pathlib import Path

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import geomndp
from geomndp.evaluate import AbstractMeasurement, run_resumable

WORKER = Path(__file__).with_name("worker.py")
CALLS = []


class Scaled(AbstractMeasurement):
    factor: float = eqx.field(static=True)

    def __call__(self, model, items):
        values, keys = items
        CALLS.append(values.shape)  # once for every trace
        noise = jnp.stack([jr.uniform(key) for key in keys])
        return {"scaled": self.factor * model * values, "noise": noise}


def items(num: int = 7):
    return jnp.arange(num, dtype=float), jr.split(jr.key(0), num)


def test_blocks_do_not_show_in_the_results():
    CALLS.clear()
    whole, parts = (
        run_resumable(Scaled(2.0), jnp.asarray(3.0), items(), block_size=b) for b in (7, 3)
    )
    assert_array_equal(whole["scaled"], 6 * np.arange(7))
    assert_array_equal(whole["noise"], parts["noise"])
    assert_array_equal(whole["scaled"], parts["scaled"])
    assert CALLS == [(7,), (3,)]


def test_finished_blocks_are_kept_and_only_the_rest_is_computed(tmp_path):
    first = run_resumable(Scaled(2.0), jnp.asarray(3.0), items(), block_size=3, directory=tmp_path)
    kept = sorted(tmp_path.iterdir())
    assert [path.name for path in kept] == [
        f"block-{start:06d}-{stop:06d}.npz" for start, stop in ((0, 3), (3, 6), (6, 7))
    ]
    stamps = [path.stat().st_mtime_ns for path in kept]
    kept[1].unlink()
    again = run_resumable(Scaled(2.0), jnp.asarray(3.0), items(), block_size=3, directory=tmp_path)
    assert_array_equal(first["scaled"], again["scaled"])
    assert_array_equal(first["noise"], again["noise"])
    moved = [a != path.stat().st_mtime_ns for a, path in zip(stamps, kept, strict=True)]
    assert moved == [False, True, False]


OTHERS = {
    "model": (Scaled(2.0), 3.5, items()),
    "measurement": (Scaled(2.5), 3.0, items()),
    "items": (Scaled(2.0), 3.0, (items()[0] + 1, items()[1])),
    "keys": (Scaled(2.0), 3.0, (items()[0], jr.split(jr.key(1), 7))),
}


@pytest.mark.parametrize("other", OTHERS)
def test_results_of_others_are_refused(other, tmp_path):
    run_resumable(Scaled(2.0), jnp.asarray(3.0), items(), directory=tmp_path)
    measurement, model, wrong = OTHERS[other]
    with pytest.raises(ValueError, match="got those of others"):
        run_resumable(measurement, jnp.asarray(model), wrong, directory=tmp_path)


def test_a_damaged_file_is_refused(tmp_path):
    run_resumable(Scaled(2.0), jnp.asarray(3.0), items(), directory=tmp_path)
    next(tmp_path.iterdir()).write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(ValueError, match="damaged or foreign file"):
        run_resumable(Scaled(2.0), jnp.asarray(3.0), items(), directory=tmp_path)


@pytest.mark.slow  # training on two devices is tested fast
def test_two_devices_give_the_results_of_one(tmp_path):
    path = tmp_path / "result.npz"
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(geomndp.__file__).parents[1]),
        "XLA_FLAGS": f"{os.environ['XLA_FLAGS']} --xla_force_host_platform_device_count=2",
    }
    command = [sys.executable, str(WORKER), str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = np.load(path)
    assert found["devices"] == 2 and found["one"].shape == (4, 7)
    assert_allclose(found["one"], found["all"], rtol=1e-9)
