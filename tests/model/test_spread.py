"""Rows over devices: which ones, and the numbers of one device on two."""

import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import geomndp
from geomndp._arrays import spread_devices, spread_rows, whole_rows


def test_what_is_fixed_stays_where_it_is():
    device = jax.devices()[0]
    assert spread_devices(jnp.zeros(2)) == jax.local_devices()
    assert spread_devices(jax.device_put(jnp.zeros(2), device)) == [device]
    with jax.default_device(device):
        assert spread_devices() == [device]
    rows = np.arange(3)
    assert spread_rows(rows, [device]) is rows
    assert [whole_rows(n, [device] * 4) for n in (1, 4, 5)] == [4, 4, 8]


@pytest.mark.slow  # a process of its own, which has two devices
def test_two_devices_give_the_samples_of_one(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(Path(geomndp.__file__).parents[1])}
    environment["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
    result = tmp_path / "result.npz"
    command = [sys.executable, str(Path(__file__).with_name("spread_worker.py")), str(result)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with np.load(result) as file:
        assert sorted(set(file["devices"].tolist())) == [1, 2]
        assert file["error"] < 1e-9
