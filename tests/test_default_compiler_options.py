"""Covariances, log-densities, quotients and a sampler with the options of XLA that users have."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow  # as all slow tests have these options
def test_numbers_with_the_compiler_s_own_options():
    mine = ("XLA_FLAGS", "NPROC", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
    env = {name: value for name, value in os.environ.items() if name not in mine}
    script = Path(__file__).with_name("default_compiler_options.py")
    command = [sys.executable, "-W", "error", str(script)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
