"""Cholesky factors: those of LAPACK, with derivatives, and no deadlock on two threads."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp import _threads
from geomndp.linalg import cholesky

RNG = np.random.default_rng(0)
ROOTS = RNG.normal(size=(2, 3, 5, 5))
MATRICES = ROOTS @ ROOTS.transpose(0, 1, 3, 2) + 5 * np.eye(5)
TWO_BATCHES = """
import sys
import jax, jax.numpy as jnp, numpy as np
jax.config.update("jax_enable_x64", True)
from geomndp.linalg import cholesky
roots = np.random.default_rng(0).normal(size=(16, 96, 96))
matrices = jnp.asarray(roots @ roots.transpose(0, 2, 1) + 96 * np.eye(96))
shifts = [jnp.eye(96)[None] * i for i in range(3)]
total = jax.jit(lambda m: sum(jax.vmap(cholesky)(m + shift).sum() for shift in shifts))
for _ in range(20):
    total(matrices).block_until_ready()
"""


def test_factors_under_every_number_of_vmaps():
    matrices = jnp.asarray(MATRICES)
    expected = np.linalg.cholesky(MATRICES)
    assert_allclose(cholesky(matrices[0, 0]), expected[0, 0])
    assert_allclose(jax.vmap(cholesky)(matrices[0]), expected[0])
    assert_allclose(jax.jit(jax.vmap(jax.vmap(cholesky)))(matrices), expected)
    assert np.isnan(cholesky(-matrices[0, 0])).any()


def test_derivatives_are_those_of_jax():
    def total(factor_of):
        return lambda matrix: jnp.sum(jnp.sin(factor_of(matrix)))

    own, known = total(cholesky), total(jnp.linalg.cholesky)
    matrices = jnp.asarray(MATRICES[0])
    assert_allclose(jax.vmap(jax.grad(own))(matrices), jax.vmap(jax.grad(known))(matrices))
    second = jax.hessian(own)(matrices[0]), jax.hessian(known)(matrices[0])
    assert_allclose(*second, atol=1e-12)


def test_float64_within_programs_of_32_bits():
    with jax.enable_x64(False):

        @jax.jit
        def factor(matrix):
            with jax.enable_x64(True):
                return cholesky(matrix.astype(jnp.float64)).astype(jnp.float32)

        found = jax.jit(jax.vmap(factor))(jnp.asarray(MATRICES[0], jnp.float32))
    assert_allclose(found, np.linalg.cholesky(MATRICES[0]), rtol=1e-6, atol=1e-6)


def test_batches_beside_each_other_do_not_wait_for_each_other():
    threads = {"NPROC": "2", "OPENBLAS_NUM_THREADS": "1", "XLA_FLAGS": ""}
    command = [sys.executable, "-c", TWO_BATCHES]
    subprocess.run(command, env={**os.environ, **threads}, check=True, timeout=300)


@pytest.mark.parametrize(
    ("given", "loaded", "expected"),
    [
        ({}, False, ("32", "1")),
        ({}, True, ("1", None)),
        ({"OPENBLAS_NUM_THREADS": "1"}, True, ("32", "1")),
        ({"NPROC": "2"}, False, ("2", None)),
    ],
)
def test_few_cores_get_enough_threads(given, loaded, expected, monkeypatch):
    for name in ("NPROC", "OPENBLAS_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.delitem(sys.modules, "scipy.linalg", raising=False)
    if loaded:
        monkeypatch.setitem(sys.modules, "scipy.linalg", os)
    _threads.use_enough_threads()
    found = os.environ.get("NPROC"), os.environ.get("OPENBLAS_NUM_THREADS")
    monkeypatch.setenv("NPROC", "1")  # undone with the others
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    assert found == expected
