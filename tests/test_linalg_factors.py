"""Cholesky factors and triangular solves: those of LAPACK, with derivatives, and no deadlock."""

import functools
import os
import re
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import geomndp
from geomndp import _threads
from geomndp.linalg import cholesky, solve_lower

RNG = np.random.default_rng(0)
ROOTS = RNG.normal(size=(2, 3, 5, 5))
MATRICES = ROOTS @ ROOTS.transpose(0, 1, 3, 2) + 5 * np.eye(5)
TWO_BATCHES = """
import sys
import jax, jax.numpy as jnp, numpy as np
jax.config.update("jax_enable_x64", True)
from geomndp.linalg import cholesky, solve_lower
roots = np.random.default_rng(0).normal(size=(32, 192, 192))
matrices = jnp.asarray(roots @ roots.transpose(0, 2, 1) + 192 * np.eye(192))
values = jnp.asarray(roots[:, :, :5])
shifts = [jnp.eye(192)[None] * i for i in range(6)]
if sys.argv[1] == "factors":
    one = lambda m: jax.vmap(cholesky)(m).sum()
else:
    matrices = jnp.asarray(np.linalg.cholesky(matrices))
    one = lambda m: jax.vmap(solve_lower)(m, values).sum()
total = jax.jit(lambda m: sum(one(m + shift) for shift in shifts))
for _ in range(10):
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
    lower = np.linalg.cholesky(MATRICES[0])
    with jax.enable_x64(False):

        @jax.jit
        def factor(matrix):
            with jax.enable_x64(True):
                return cholesky(matrix.astype(jnp.float64)).astype(jnp.float32)

        @jax.jit
        def square(values, matrix):
            with jax.enable_x64(True):
                white = solve_lower(cholesky(matrix.astype(jnp.float64)), values.astype(float))
                return 0.5 * jnp.sum(white**2).astype(jnp.float32)

        matrices = jnp.asarray(MATRICES[0], jnp.float32)
        found = jax.jit(jax.vmap(factor))(matrices)
        slopes = jax.vmap(jax.grad(square), in_axes=(None, 0))(matrices[0], matrices)
    assert_allclose(found, lower, rtol=1e-6, atol=1e-6)
    expected = [np.linalg.solve(matrix, MATRICES[0, 0]) for matrix in MATRICES[0]]
    assert_allclose(slopes, expected, rtol=1e-5, atol=1e-5)


def test_batches_within_programs_of_32_bits_have_the_precision_of_float64():
    """Of matrices that are singular in float32."""
    nearly = np.ones((3, 4, 4)) + 1e-9 * np.eye(4)
    values = RNG.normal(size=(2, 4)).astype(np.float32)
    with jax.enable_x64(False):

        @jax.jit
        def solved(ones, values):
            with jax.enable_x64(True):
                factor = cholesky(ones.astype(jnp.float64) + 1e-9 * jnp.eye(4))
                return solve_lower(factor, values.astype(jnp.float64)).astype(jnp.float32)

        many = jax.vmap(jax.vmap(solved, in_axes=(None, 0)), in_axes=(0, None))
        found = jax.jit(many)(jnp.ones((3, 4, 4), jnp.float32), jnp.asarray(values))
    expected = [[np.linalg.solve(np.linalg.cholesky(m), v) for v in values] for m in nearly]
    assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.parametrize("what", ["factors", "solves"])
def test_batches_beside_each_other_do_not_wait_for_each_other(what):
    threads = {"NPROC": "2", "OPENBLAS_NUM_THREADS": "1", "XLA_FLAGS": ""}
    command = [sys.executable, "-c", TWO_BATCHES, what]
    subprocess.run(command, env={**os.environ, **threads}, check=True, timeout=300)


def _plain(factor, values, transposed=False):
    return jax.scipy.linalg.solve_triangular(factor, values, lower=True, trans=int(transposed))


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 0)], ids=str)
def test_solves_are_those_of_jax_under_vmaps(transposed, axes):
    lower, values = np.linalg.cholesky(MATRICES), RNG.normal(size=(2, 3, 5, 4))
    arrays = [
        jnp.asarray(array if axis == 0 else array[0, 0])
        for array, axis in zip((lower, values), axes, strict=True)
    ]

    def batched(solve):
        one = functools.partial(solve, transposed=transposed)
        return jax.jit(jax.vmap(jax.vmap(one, in_axes=axes), in_axes=axes))(*arrays)

    assert np.array_equal(batched(solve_lower), batched(_plain))


@pytest.mark.parametrize("transposed", [False, True])
def test_derivatives_of_solves_are_those_of_jax(transposed):
    lower = jnp.asarray(np.linalg.cholesky(MATRICES[0]) + np.triu(np.ones((5, 5)), 1))
    values = jnp.asarray(RNG.normal(size=(3, 5)))

    def total(solve):
        return lambda pair: jnp.sum(jnp.sin(solve(*pair, transposed=transposed)))

    own, known = (
        jax.vmap(jax.grad(total(solve)))((lower, values)) for solve in (solve_lower, _plain)
    )
    jax.tree.map(assert_allclose, own, known)
    pair = lower[0], values[0]
    own, known = (jax.hessian(total(solve))(pair) for solve in (solve_lower, _plain))
    jax.tree.map(functools.partial(assert_allclose, atol=1e-12), own, known)


def test_no_other_module_calls_batched_lapack():
    source = Path(geomndp.__file__).parent
    calls = re.compile(
        r"jnp\.linalg\.(cholesky|solve|inv)\b|jax\.scipy\.linalg(\.| import .*)(solve|cho)"
        r"|lax\.linalg"
    )
    modules = {
        str(path.relative_to(source))
        for path in source.rglob("*.py")
        if calls.search(path.read_text(encoding="utf-8"))
    }
    assert modules == {"linalg/factors.py"}


@pytest.mark.parametrize(
    ("given", "loaded", "expected"),
    [(None, False, "1"), (None, True, None), ("4", False, "4")],
)
def test_lapack_has_one_thread_where_it_is_not_loaded_yet(given, loaded, expected, monkeypatch):
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    monkeypatch.delenv("NPROC", raising=False)
    if given:
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", given)
    monkeypatch.delitem(sys.modules, "scipy.linalg", raising=False)
    if loaded:
        monkeypatch.setitem(sys.modules, "scipy.linalg", os)
    _threads.use_one_lapack_thread()
    found = os.environ.get("OPENBLAS_NUM_THREADS"), os.environ.get("NPROC")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")  # undone with the others
    assert found == (expected, None)
