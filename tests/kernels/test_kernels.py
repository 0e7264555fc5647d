"""What must hold for every kernel."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp import kernels
from geomndp.kernels import Matern12, Matern32, Matern52, Periodic, SquaredExponential, White
from geomndp.linalg import DiagonalGram

from ..cases import DTYPES, KERNELS, SCALAR, N, inputs

ISOTROPIC = ("se", "matern12", "matern32", "matern52", "curl-free", "divergence-free")


@pytest.fixture(params=KERNELS)
def case(request):
    return KERNELS[request.param]


@eqx.filter_jit
def blocks(kernel, x1, x2):
    return jax.vmap(lambda a: jax.vmap(lambda b: kernel(a, b))(x2))(x1)


def by_definition(case, x):
    """Gram matrix from pairs of rows, and the variance of one."""
    p, n = case.kernel.dim, len(x)
    k = np.array(blocks(case.kernel, x, x))
    k[np.arange(n), np.arange(n)] = case.variance * np.eye(p)
    return k.transpose(0, 2, 1, 3).reshape(n * p, n * p)


def test_gram_follows_from_pairs_of_rows(case, getkey):
    x = inputs(N, key=getkey())
    gram = case.kernel.gram(x)
    assert gram.dim == case.kernel.dim
    assert isinstance(gram, DiagonalGram) == case.kernel.white
    assert_allclose(gram.dense(), by_definition(case, x), rtol=1e-12, atol=1e-14)
    assert_allclose(case.kernel.diagonal(x), gram.diagonal(), rtol=1e-12)


def test_cross_follows_from_pairs_of_rows(case, getkey):
    x1, x2, p = inputs(N, key=getkey()), inputs(N, key=getkey()), case.kernel.dim
    k = np.asarray(blocks(case.kernel, x1, x2))
    expected = k.transpose(0, 2, 1, 3).reshape(N * p, N * p)
    if case.kernel.shared:
        assert_allclose(k, k[:, :, :1, :1] * np.eye(p), rtol=1e-12)
        expected = k[:, :, 0, 0]
    assert_allclose(case.kernel.cross(x1, x2), expected, rtol=1e-12, atol=1e-14)


def test_positive_and_symmetric(case, getkey):
    x = inputs(N, key=getkey())
    x = x.at[4].set(x[0])
    dense = np.asarray(case.kernel.gram(x).dense())
    assert_allclose(dense, dense.T, rtol=1e-12)
    assert np.linalg.eigvalsh(dense).min() > -1e-10
    k = blocks(case.kernel, x, x)
    assert_allclose(k, k.transpose(1, 0, 3, 2), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtype_follows_the_inputs(case, dtype):
    x = jax.ShapeDtypeStruct((N, 2), dtype)
    assert jax.eval_shape(lambda x: case.kernel.gram(x).dense(), x).dtype == dtype
    assert jax.eval_shape(lambda x: case.kernel.cross(x, x), x).dtype == dtype
    assert jax.eval_shape(lambda x: case.kernel(x[0], x[1]), x).dtype == dtype


def test_stationary(case, getkey):
    x, step = inputs(N, key=getkey()), inputs(1, key=getkey())
    moved = case.kernel.gram(x + jnp.broadcast_to(step, x.shape))
    assert_allclose(moved.dense(), case.kernel.gram(x).dense(), atol=1e-12)


def test_gradient_where_inputs_coincide(case, getkey):
    x = inputs(1, key=getkey())[0]
    jacobian = jax.jit(jax.jacfwd(lambda a: case.kernel(a, x)))(x)
    # Every kernel here is even in x1 - x2; Matern-1/2, which has a kink, is given a zero slope.
    assert_allclose(jacobian, 0.0, atol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "curvature"),
    [
        (SquaredExponential(0.7, 1.5), 1.5 / 0.7**2),
        (Matern32(0.7, 1.5), 1.5 * 3 / 0.7**2),
        (Matern52(0.7, 1.5), 1.5 * 5 / 3 / 0.7**2),
    ],
    ids=str,
)
def test_slope_near_zero_distance(kernel, curvature, getkey):
    x, step = inputs(1, key=getkey())[0], jnp.asarray([1e-6, 0.0])
    slope = jax.jvp(lambda a: kernel(a, x)[0, 0], (x + step,), (jnp.asarray([1.0, 0.0]),))[1]
    assert_allclose(slope, -curvature * 1e-6, rtol=1e-4)


@pytest.mark.parametrize(
    ("kernel", "profile"),
    [
        (SquaredExponential(0.7, 1.5), lambda r: np.exp(-(r**2) / 2)),
        (Matern12(0.7, 1.5), lambda r: np.exp(-r)),
        (Matern32(0.7, 1.5), lambda r: (1 + 3**0.5 * r) * np.exp(-(3**0.5) * r)),
        (Matern52(0.7, 1.5), lambda r: (1 + 5**0.5 * r + 5 / 3 * r**2) * np.exp(-(5**0.5) * r)),
        (Periodic(0.5, 0.7, 1.5), lambda r: np.exp(-2 * np.sin(np.pi * r) ** 2)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_on_the_line(kernel, profile, getkey):
    x = inputs(N, 1, key=getkey())
    distance = np.abs(np.asarray(x) - np.asarray(x).T) / 0.7
    assert_allclose(kernel.cross(x, x), 1.5 * profile(distance), rtol=1e-10)


def test_lengthscales_by_dimension(getkey):
    x, scales = inputs(N, key=getkey()), jnp.asarray([0.7, 1.3])
    plain = SquaredExponential(1.0).gram(x / scales[None]).dense()
    for lengthscale in ((0.7, 1.3), scales):
        assert_allclose(SquaredExponential(lengthscale).gram(x).dense(), plain, rtol=1e-12)


def test_periodic_repeats(getkey):
    x = inputs(N, 1, key=getkey())
    kernel = Periodic(0.5, 0.7)
    assert_allclose(kernel.cross(x + 1.4, x), kernel.cross(x, x), rtol=1e-10)


def test_white_noise_is_independent_per_row(getkey):
    x = jnp.broadcast_to(inputs(1, key=getkey()), (N, 2))
    kernel = White(1.3)
    assert kernel(x[0], x[1]) == 0
    assert_allclose(kernel.gram(x).dense(), 1.3 * np.eye(N))
    assert_allclose(kernel.cross(x, x), np.zeros((N, N)))
    both = SquaredExponential() + kernel
    assert_allclose(both.gram(x).dense(), np.ones((N, N)) + 1.3 * np.eye(N))


def test_algebra(getkey):
    x = inputs(N, key=getkey())
    one, two, white = SquaredExponential(0.7), Matern32(1.3, 0.5), White(0.2)

    def same(a, b):
        assert_allclose(a.gram(x).dense(), b.gram(x).dense(), rtol=1e-12)
        assert_allclose(a.cross(x, x), b.cross(x, x), rtol=1e-12)

    same(one + two, two + one)
    same(one * two, two * one)
    same((one + two) * white, one * white + two * white)
    same((one + two) * one, one * one + two * one)
    same(2.0 * (one + two), 2.0 * one + 2.0 * two)
    same(2.0 * (3.0 * one), 6.0 * one)
    same(kernels.Diagonal(one + white, 2), kernels.Diagonal(one, 2) + kernels.Diagonal(white, 2))


@pytest.mark.parametrize("name", ISOTROPIC)
def test_float32_is_near_float64(name, getkey):
    kernel, x = KERNELS[name].kernel, inputs(N, key=getkey())
    low = kernel.gram(x.astype(jnp.float32)).dense()
    assert_allclose(low, kernel.gram(x).dense(), atol=2e-6)


@pytest.mark.parametrize("make", [SquaredExponential, Matern12, Matern32, Matern52, Periodic])
@pytest.mark.parametrize("wrong", [0.0, -1.0, np.nan, np.inf])
def test_parameters_must_be_positive(make, wrong):
    with pytest.raises(ValueError, match=f"expected lengthscale > 0, got {wrong}"):
        make(lengthscale=wrong)
    with pytest.raises(ValueError, match=f"expected variance > 0, got {wrong}"):
        make(variance=wrong)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: White(-1.0), "expected variance > 0, got -1.0"),
        (lambda: Periodic(period=0.0), "expected period > 0, got 0.0"),
        (lambda: SquaredExponential((1.0, -2.0)), r"expected lengthscale > 0, got \(1.0, -2.0\)"),
        (lambda: -1.0 * White(), "expected factor > 0, got -1.0"),
        (lambda: kernels.CurlFree(-1.0), "expected lengthscale > 0, got -1.0"),
        (lambda: kernels.DivergenceFree(1.0, 0.0), "expected variance > 0, got 0.0"),
        (lambda: kernels.CurlFree(dim=1), "expected dim to be a whole number >= 2, got 1"),
        (lambda: kernels.Diagonal(White(), 0), "expected dim to be a whole number >= 1, got 0"),
        (
            lambda: kernels.Diagonal(kernels.CurlFree(), 2),
            "expected a scalar kernel, got one with 2 outputs",
        ),
        (
            lambda: White() + kernels.CurlFree(),
            "expected two kernels with as many outputs, got 1 and 2",
        ),
        (
            lambda: White() * kernels.CurlFree(),
            "expected scalar kernels in a product, got 1 and 2 outputs",
        ),
        (
            lambda: kernels.CurlFree(dim=3).gram(jnp.zeros((2, 2))),
            "expected inputs of dimension 3, got 2",
        ),
        (
            lambda: SquaredExponential((1.0, 2.0, 3.0)).gram(jnp.zeros((4, 2))),
            "expected a lengthscale for each of 2 dimensions, got 3",
        ),
    ],
)
def test_refusals(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_product_needs_two_kernels():
    with pytest.raises(TypeError, match="unsupported operand"):
        _ = White() * object()


def test_scalar_kernels_are_marked_shared():
    assert all(KERNELS[name].kernel.shared for name in SCALAR)


@pytest.mark.parametrize(
    "kernel",
    [
        kernels.White,
        kernels.SquaredExponential,
        kernels.Matern12,
        kernels.Matern32,
        kernels.Matern52,
        kernels.Periodic,
        kernels.CurlFree,
        kernels.DivergenceFree,
        kernels.Hessian,
    ],
)
def test_kernels_are_in_units_unless_said(kernel):
    numbers = {"lengthscale", "period", "variance"} & {f.name for f in dataclasses.fields(kernel)}
    assert all(getattr(kernel(), name) == 1.0 for name in numbers) and "variance" in numbers
    assert kernels.Hessian().space == kernels.CurlFree().dim == kernels.DivergenceFree().dim == 2
