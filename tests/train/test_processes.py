"""Runs in processes of their own: on two devices, in two processes."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import geomndp

WORKER = Path(__file__).with_name("worker.py")
SOURCE = str(Path(geomndp.__file__).parents[1])
FEW = 10
# Compiles faster, to other last bits.
QUICK = "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """Start a worker; compiled programs are shared, so that only the first one waits for them."""
    cache = tmp_path_factory.mktemp("cache")
    environment = {
        **os.environ,
        "PYTHONPATH": SOURCE,
        "JAX_COMPILATION_CACHE_DIR": str(cache),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }

    def begin(result, *options, flags=""):
        command = [sys.executable, str(WORKER), str(result), *map(str, options)]
        flags = f"--xla_cpu_multi_thread_eigen=false {flags}"
        return subprocess.Popen(
            command,
            env={**environment, "XLA_FLAGS": flags},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    return begin


def finish(*workers):
    for worker in workers:
        output, _ = worker.communicate(timeout=300)
        assert worker.returncode == 0, output


def read(result):
    with np.load(result) as file:
        return dict(file)


def rows(folder):
    log = folder / "log.csv"
    return max(len(log.read_text().splitlines()) - 1, 0) if log.exists() else 0


@pytest.fixture(scope="module")
def whole(start, tmp_path_factory):
    """A run of one process on one device."""
    result = tmp_path_factory.mktemp("whole") / "result.npz"
    finish(start(result, "--steps", FEW, flags=QUICK))
    return read(result)


@pytest.mark.slow  # two processes have a device each
def test_two_devices_give_the_losses_of_one(whole, start, tmp_path):
    result = tmp_path / "result.npz"
    flags = f"--xla_force_host_platform_device_count=2 {QUICK}"
    finish(start(result, "--steps", FEW, flags=flags))
    spread = read(result)
    assert spread["devices"] == 2
    assert_allclose(spread["loss"], whole["loss"], rtol=1e-9)


@pytest.mark.slow  # two devices take the same path
def test_two_processes_give_the_losses_of_one(whole, start, tmp_path):
    with socket.socket() as free:
        free.bind(("localhost", 0))
        address = f"localhost:{free.getsockname()[1]}"
    results, folder = [tmp_path / f"{i}.npz" for i in range(2)], tmp_path / "run"
    options = ("--steps", FEW, "--folder", folder)
    commands = [(result, "--processes", address, i) for i, result in enumerate(results)]
    finish(*(start(*command, *options, flags=QUICK) for command in commands))
    first, second = map(read, results)
    assert first["devices"] == second["devices"] == 2
    assert_array_equal(first["params"], second["params"])
    assert_allclose(first["loss"], whole["loss"], rtol=1e-9)
    assert rows(folder) == FEW // 5
    assert (folder / "checkpoints" / str(FEW)).is_dir()
