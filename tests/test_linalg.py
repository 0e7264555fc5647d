"""Gram operators against dense matrices."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
import scipy.stats
from numpy.testing import assert_allclose

from geomndp.kernels import Diagonal, SquaredExponential, White
from geomndp.linalg import DiagonalGram, apply, per_output, zero_masked

from .cases import (
    DTYPES,
    GRAMS,
    KERNELS,
    KINDS,
    SCALAR,
    N,
    inputs,
    largest,
    matrix_of,
    normal,
    operands,
)

MASK = jnp.asarray([1.0, 0.0, 1.0, 1.0, 0.0])

CHANGES = {
    "as it is": (lambda g, v: g, lambda k, v: k),
    "scale": (lambda g, v: g.scale(v), lambda k, v: v[:, None] * k * v),
    "add_diagonal": (lambda g, v: g.add_diagonal(v), lambda k, v: k + np.diag(v)),
    "multiple": (lambda g, v: 2.5 * g, lambda k, v: 2.5 * k),
    "sum": (lambda g, v: g + g.scale(v), lambda k, v: k + v[:, None] * k * v),
    "white sum": (
        lambda g, v: DiagonalGram(v, g.dim) + g + DiagonalGram(v, g.dim),
        lambda k, v: k + 2 * np.diag(v),
    ),
}


@pytest.fixture(params=GRAMS)
def case(request):
    return KERNELS[request.param]


def regular(case, *, key, dtype=jnp.float64, n=N):
    """Gram operator far from singular."""
    gram = case.kernel.gram(inputs(n, key=key, dtype=dtype))
    return gram.add_diagonal(jnp.full(n, 0.3, dtype=dtype))


@eqx.filter_jit
def methods(gram, v):
    """All that a Gram operator can do."""
    lower = matrix_of(gram.cholesky_mv, *v.shape, v.dtype)
    return {
        "dense": gram.dense(),
        "mv": gram.mv(v),
        "root": gram.root().dense(),
        "root_mv": gram.root_mv(v),
        "root_solve": gram.root_solve(v),
        "cholesky_mv": lower @ lower.T,
        "solve": gram.solve(v),
        "logdet": gram.logdet(),
        "diagonal": gram.diagonal(),
        "log_density": gram.log_density(v),
    }


def check_methods(gram, dense, v, tolerance):
    flat = np.asarray(v, dtype=np.float64).reshape(-1)
    root = scipy.linalg.sqrtm(dense).real
    expected = {
        "dense": dense,
        "mv": dense @ flat,
        "root": root,
        "root_mv": root @ flat,
        "root_solve": np.linalg.solve(root, flat),
        "cholesky_mv": dense,
        "solve": np.linalg.solve(dense, flat),
        "logdet": np.linalg.slogdet(dense)[1],
        "diagonal": np.diag(dense),
        "log_density": scipy.stats.multivariate_normal(cov=dense).logpdf(flat),
    }
    for name, value in methods(gram, v).items():
        assert value.dtype == v.dtype, name
        value = value.reshape(expected[name].shape)
        assert_allclose(value, expected[name], rtol=tolerance, atol=tolerance, err_msg=name)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", [*KINDS, "field-sum"])
def test_methods_agree_with_the_dense_matrix(name, change, getkey):
    case = KERNELS[name]
    gram, p = regular(case, key=getkey()), case.kernel.dim
    v = 0.5 + jnp.abs(normal(N, key=getkey()))
    dense = np.asarray(gram.dense())
    on_gram, on_dense = CHANGES[change]
    changed = on_gram(gram, v)
    assert type(changed) is type(gram)
    dense = on_dense(dense, np.repeat(np.asarray(v), p))
    check_methods(changed, dense, normal(N, p, key=getkey()), 1e-7)


@pytest.mark.parametrize("name", KINDS)
def test_float32(name, getkey):
    case = KERNELS[name]
    gram = regular(case, key=getkey(), dtype=jnp.float32)
    dense = np.asarray(gram.dense(), dtype=np.float64)
    check_methods(gram, dense, normal(N, case.kernel.dim, key=getkey(), dtype=jnp.float32), 2e-4)


@pytest.mark.parametrize("name", ["white", "diagonal", "field-sum"])
def test_masked_rows_are_an_identity_apart(name, getkey):
    case = KERNELS[name]
    x, p = inputs(N, key=getkey()), case.kernel.dim
    v = normal(N, p, key=getkey())
    rough, rows = jnp.full(N, 0.3), np.flatnonzero(np.repeat(MASK, p))
    few = np.asarray(case.kernel.gram(x).add_diagonal(rough).dense())[np.ix_(rows, rows)]
    bad = MASK[:, None] == 0
    x, v = jnp.where(bad, jnp.nan, x), jnp.where(bad, jnp.inf, v)
    gram = case.kernel.gram(x).add_diagonal(rough).masked(MASK)
    expected = np.eye(N * p)
    expected[np.ix_(rows, rows)] = few
    check_methods(gram, expected, zero_masked(v, MASK), 1e-7)
    log_density = scipy.stats.multivariate_normal(cov=few).logpdf(np.asarray(v).reshape(-1)[rows])
    assert_allclose(gram.log_density(v, MASK), log_density, rtol=1e-7)
    assert_allclose(case.kernel.gram(x, MASK).dense(), case.kernel.gram(x).masked(MASK).dense())


def test_no_mask_is_a_mask_of_ones(case, getkey):
    gram, v = regular(case, key=getkey()), normal(N, case.kernel.dim, key=getkey())
    ones = jnp.ones(N)
    assert gram.masked(None) is gram
    assert_allclose(gram.masked(ones).dense(), gram.dense(), rtol=1e-14)
    assert_allclose(gram.log_density(v, ones), gram.log_density(v), rtol=1e-12)
    assert zero_masked(v, None) is v


@pytest.mark.parametrize("first", [case for case in GRAMS if case.values[0] in SCALAR])
def test_hadamard(first, getkey):
    x = inputs(N, key=getkey())
    second = SquaredExponential(0.8, 1.2)
    gram = KERNELS[first].kernel.gram(x)
    for one, two in ((gram, second.gram(x)), (second.gram(x), gram), (gram, White(2.0).gram(x))):
        product = one.hadamard(two)
        assert isinstance(product, DiagonalGram) == (
            isinstance(one, DiagonalGram) or isinstance(two, DiagonalGram)
        )
        assert_allclose(product.dense(), one.dense() * two.dense(), rtol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_repeated_inputs(case, dtype, getkey):
    x = inputs(N, key=getkey(), dtype=dtype)
    x, p = x.at[2:].set(x[:1]), case.kernel.dim
    found = methods(case.kernel.gram(x), normal(N, p, key=getkey(), dtype=dtype))
    tolerance = 1e-8 if dtype == jnp.float64 else 1e-4
    root = np.asarray(found["root"])
    assert_allclose(found["cholesky_mv"], found["dense"], atol=tolerance)
    assert_allclose(root @ root, found["dense"], atol=tolerance)
    assert_allclose(root, root.T, atol=tolerance)
    for name, value in found.items():
        assert jnp.all(jnp.isfinite(value)), name


@pytest.mark.parametrize("name", KINDS)
def test_one_point(name, getkey):
    gram = regular(KERNELS[name], key=getkey(), n=1)
    check_methods(gram, np.asarray(gram.dense()), normal(1, gram.dim, key=getkey()), 1e-7)


@pytest.mark.parametrize("name", KINDS)
def test_no_points(name):
    kernel = KERNELS[name].kernel
    x, v = jnp.zeros((0, 2)), jnp.zeros((0, kernel.dim))

    @jax.jit
    def everything(x, v):
        gram = kernel.gram(x).add_diagonal(x[:, 0])
        same = gram.mv(v), gram.root_mv(v), gram.root_solve(v), gram.cholesky_mv(v), gram.solve(v)
        return gram.dense(), same, (gram.log_density(v), gram.logdet())

    dense, same, zeros = everything(x, v)
    assert dense.shape == (0, 0)
    assert {value.shape for value in same} == {v.shape}
    assert zeros == (0, 0)


def test_symmetric_root_is_symmetric(case, getkey):
    root = case.kernel.gram(inputs(N, key=getkey())).root().dense()
    assert_allclose(root, root.T, atol=1e-12)
    assert np.linalg.eigvalsh(root).min() > 0


def test_white_noise_stays_diagonal_at_any_size(getkey):
    n = 100_000
    x, v = inputs(n, key=getkey()), normal(n, 2, key=getkey())
    kernel = Diagonal(White(0.5) + 0.3 * (White(2.0) * SquaredExponential(0.7)), 2)
    ones = jnp.ones(n)

    def everything(x, v):
        gram = (kernel.gram(x, ones) + 2.0 * kernel.gram(x)).scale(ones).add_diagonal(ones)
        parts = gram.mv(v), gram.root_mv(v), gram.root_solve(v), gram.cholesky_mv(v), gram.solve(v)
        return gram.log_density(v, ones), gram.logdet(), gram.diagonal(), parts

    assert largest(everything, x, v) <= 2 * n
    log_density, *_ = everything(x, v)
    scale = np.sqrt(1 + 3 * 1.1)
    assert_allclose(log_density, scipy.stats.norm(scale=scale).logpdf(v).sum(), rtol=1e-10)


def test_independent_outputs_share_one_factorisation(getkey):
    x, v = inputs(7, key=getkey()), normal(7, 3, key=getkey())
    kernel = Diagonal(SquaredExponential() + 0.1 * White(), 3)
    assert operands("cholesky", lambda x: kernel.gram(x).solve(v), x) == [(7, 7)]
    assert operands("cholesky", lambda x: kernel.gram(x).cholesky_mv(v), x) == [(7, 7)]
    assert operands("cholesky", lambda x: kernel.gram(x).log_density(v), x) == [(7, 7)]
    assert operands("eigh", lambda x: kernel.gram(x).root_mv(v), x) == [(7, 7)]
    assert largest(lambda x: kernel.gram(x).solve(v), x) < (7 * 3) ** 2


def test_apply_and_per_output(getkey):
    shared, v = normal(4, N, key=getkey()), normal(N, 3, key=getkey())
    full = per_output(shared, 3)
    assert full.shape == (12, 15)
    assert_allclose(apply(shared, v), np.asarray(shared) @ np.asarray(v), rtol=1e-12)
    assert_allclose(apply(full, v), apply(shared, v), rtol=1e-12)


@pytest.mark.parametrize("name", KINDS)
def test_gradients_are_finite(name, getkey):
    case = KERNELS[name]
    x = inputs(N, key=getkey())
    x, v = x.at[2].set(x[0]), normal(N, case.kernel.dim, key=getkey())

    @jax.jit
    @jax.grad
    def gradient(x):
        return case.kernel.gram(x).add_diagonal(jnp.full(N, 0.1)).log_density(v, MASK)

    assert jnp.all(jnp.isfinite(gradient(x)))
