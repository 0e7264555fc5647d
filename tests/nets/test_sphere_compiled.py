"""Phases of many pairs of points with the options of XLA that users have.

XLA for CPUs (jaxlib 0.10.2) compiled an earlier form of them to wrong values from some hundred
points on, in float32; the options of the tests hid it.
"""

import os
import subprocess
import sys

SCRIPT = """
import jax, jax.numpy as jnp, numpy as np
from geomndp.data import fibonacci
from geomndp.geometry.geodesy import east_and_north
from geomndp.nets.steerable_sphere.pairs import FramedPoints, all_pairs

x = jnp.asarray(fibonacci(600), jnp.float32)

@jax.jit
def pairs(x):
    points = FramedPoints(x, jnp.asarray(east_and_north(x)))
    return all_pairs(points, points)

found = pairs(x)
excess = np.abs(np.linalg.norm(found.transport, axis=-1) - 1) * np.asarray(found.factor)
assert excess.max() < 1e-5, excess.max()
"""


def test_phases_of_many_points_have_modulus_one():
    mine = ("XLA_FLAGS", "NPROC", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
    env = {name: value for name, value in os.environ.items() if name not in mine}
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
