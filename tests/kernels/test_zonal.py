"""Scalar kernels on the sphere: spectra, series, invariance, both ends of the angle."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
from numpy.testing import assert_allclose

from geomndp.kernels import SphereCurlFree, ZonalExponential, ZonalHeat, ZonalMatern

from ..cases import DTYPES, N, quick, rotation, slow_but, unchecked
from ..globes import ZONAL, awkward_points, unit_vectors

__all__ = ["unchecked"]

ANGLES = np.array([0.0, 1e-8, 1e-4, 0.03, 0.4, 1.3, np.pi / 2, 2.0, 3.1, np.pi - 1e-6, np.pi])


@pytest.fixture(params=slow_but(("matern",), ZONAL))
def kernel(request):
    return ZONAL[request.param]


def meridian(angles, dtype=jnp.float64):
    return jnp.asarray(np.stack([np.sin(angles), 0 * angles, np.cos(angles)], 1), dtype)


def derivatives(kernel, x):
    pole = jnp.asarray([0.0, 0.0, 1.0], x.dtype)
    values = quick(jax.vmap(lambda a: jnp.stack(kernel.derivatives(a, pole, 2))))(x)
    return np.asarray(values, float).T


def coefficients(kernel, count):
    """(2n + 1) / 2 times the integral of f P_n, by Gauss-Legendre quadrature."""
    u, weights = np.polynomial.legendre.leggauss(200)
    f = derivatives(kernel, meridian(np.arccos(u)))[0]
    degree = np.arange(count)
    basis = scipy.special.eval_legendre(degree[:, None], u)
    return (2 * degree + 1) / 2 * (basis @ (weights * f))


def test_spectra_by_quadrature():
    degree = np.arange(30)
    eigenvalue = degree * (degree + 1)
    for kernel, spectrum in (
        (ZONAL["matern"], (1 + 0.4**2 / 5 * eigenvalue) ** -3.5),
        (ZONAL["heat"], np.exp(-(0.3**2) / 2 * eigenvalue)),
    ):
        found = coefficients(kernel, 30)
        expected = (2 * degree + 1) * spectrum
        assert_allclose(found, found[0] * expected, atol=1e-12)
    # exp(k u): modified spherical Bessel functions of k = 1 / l^2.
    rate = 1 / 0.4**2
    bessel = (2 * degree + 1) * scipy.special.spherical_in(degree, rate) * np.exp(-rate)
    assert_allclose(coefficients(ZONAL["exponential"], 30), bessel, atol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_series_against_extended_precision(dtype):
    kernel = ZonalMatern(1.6, 0.3, num_terms=256)
    degree = np.arange(256)
    c = (2 * degree + 1) * (1 + 0.3**2 / 3.2 * degree * (degree + 1)) ** -2.6
    c = (c / c.sum()).astype(np.longdouble)
    u = np.cos(ANGLES.astype(np.longdouble))
    found = derivatives(kernel, meridian(ANGLES, dtype))
    for k in range(3):
        expected = np.polynomial.legendre.legval(u, np.polynomial.legendre.legder(c, k))
        scale = float(np.abs(expected).max())
        tolerance = 1e-12 if dtype == jnp.float64 else 3e-6
        assert_allclose(found[k], expected.astype(float), atol=tolerance * scale)


def test_slope_and_derivatives_are_those_of_the_value(kernel):
    x = meridian(ANGLES)
    f, first, second = derivatives(kernel, x)
    assert_allclose(f[0], 1.0, rtol=1e-12)
    assert_allclose(first[0], kernel.slope(jnp.float64), rtol=1e-12)
    # d/dtheta f(cos theta) = -sin f', d2/dtheta2 = sin^2 f'' - cos f'
    pole = jnp.asarray([0.0, 0.0, 1.0])

    def at(angle):
        point = jnp.stack([jnp.sin(angle), jnp.zeros_like(angle), jnp.cos(angle)])
        return kernel.derivatives(point, pole, 0)[0]

    angles = jnp.asarray(ANGLES)
    slope, curvature = quick(jax.vmap(lambda a: jax.jvp(jax.grad(at), (a,), (jnp.ones_like(a),))))(
        angles
    )
    sin, cos = np.sin(ANGLES), np.cos(ANGLES)
    assert_allclose(slope, -sin * first, atol=1e-11 * first[0])
    assert_allclose(curvature, sin**2 * second - cos * first, atol=1e-10 * first[0])


def test_matern_tends_to_heat():
    x = meridian(np.linspace(0, np.pi, 9))
    heat, matern = ZonalHeat(0.4, num_terms=48), ZonalMatern(4e5, 0.4, num_terms=48)
    assert_allclose(derivatives(matern, x)[0], derivatives(heat, x)[0], atol=1e-5)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_positive_at_awkward_points_with_finite_gradients(kernel, dtype, getkey):
    x = awkward_points(key=getkey(), dtype=dtype)

    def total(x):
        gram = kernel.cross(x, x)
        return jnp.sum(jnp.sin(gram)), gram

    slopes, gram = quick(jax.grad(total, has_aux=True))(x)
    assert slopes.dtype == gram.dtype == dtype
    gram = np.asarray(gram, float)
    assert_allclose(np.diag(gram), 1.5, rtol=1e-5)
    assert np.linalg.eigvalsh(gram).min() > -1e-5 * gram.max()
    assert np.isfinite(slopes).all()


@pytest.mark.parametrize("reflect", [False, True])
def test_invariance(kernel, reflect, getkey):
    x, turn = unit_vectors(N, key=getkey()), rotation(3, key=getkey(), reflect=reflect)
    cross = quick(kernel.cross)
    assert_allclose(cross(x @ turn.T, x), cross(x, x @ turn), atol=1e-12)


def test_against_geometric_kernels():
    package = pytest.importorskip("geometric_kernels", reason="needs GeometricKernels")
    from geometric_kernels.kernels import MaternGeometricKernel
    from geometric_kernels.spaces import Hypersphere

    assert package
    x = np.asarray(meridian(np.linspace(0, 3, 7)))
    for nu, ours in (
        (2.5, ZonalMatern(2.5, 0.5, num_terms=25)),
        (np.inf, ZonalHeat(0.5, num_terms=25)),
    ):
        theirs = MaternGeometricKernel(Hypersphere(2), num=25)
        params = {"lengthscale": np.array([0.5]), "nu": np.array([nu])}
        assert_allclose(ours.cross(jnp.asarray(x), jnp.asarray(x)), theirs.K(params, x), atol=1e-6)


def test_neglected_share_bounds_what_more_terms_add():
    for make, order in (
        (lambda n: ZonalMatern(1.5, 0.5, num_terms=n), 0),
        (lambda n: ZonalMatern(2.5, 0.3, num_terms=n), 1),
        (lambda n: ZonalHeat(0.14, num_terms=n), 1),
    ):
        degree = np.arange(20_000)
        eigenvalue = degree * (degree + 1.0)
        kernel = make(24)
        terms = (2 * degree + 1) * eigenvalue**order * np.exp(kernel.log_spectrum(eigenvalue))
        share = terms[24:].sum() / terms[:24].sum()
        assert share <= kernel.neglected(order) <= 2 * share


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ZonalExponential(0.0), "expected lengthscale > 0, got 0.0"),
        (lambda: ZonalMatern(nu=-1.0), "expected nu > 0, got -1.0"),
        (lambda: ZonalHeat(variance=np.nan), "expected variance > 0, got nan"),
        (lambda: ZonalHeat(0.01), "expected enough terms of the series"),
        (lambda: ZonalMatern(0.5, 0.2), "expected enough terms .* may neglect 0.0"),
        (lambda: ZonalMatern(num_terms=1), "expected num_terms to be a whole number >= 2"),
        (lambda: SphereCurlFree(ZonalMatern(1.0, 1.0)), "expected nu > 1 for gradients"),
        (lambda: SphereCurlFree(ZonalMatern(1.5, 0.2)), "to neglect at most 1% of the gradient"),
        (lambda: ZonalExponential().gram(jnp.ones((2, 3))), "got length 1.73205 in row 0"),
        (
            lambda: ZonalExponential().gram(jnp.ones((2, 2))),
            "expected unit vectors of R.3 .* got 2",
        ),
    ],
)
def test_wrong_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_number_is_no_potential(unchecked):
    with pytest.raises(ValueError, match=r"expected a zonal kernel as potential, .* got 0\.5"):
        SphereCurlFree(0.5)
