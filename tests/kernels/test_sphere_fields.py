"""Tangent fields on the sphere: derivatives of potentials, vanishing curl or divergence."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.geometry.geodesy import east_and_north
from geomndp.geometry.tangent_fields import from_ambient, rotate_field, to_ambient
from geomndp.gp import GP
from geomndp.kernels import SphereCurlFree, SphereDivergenceFree
from geomndp.model.part_documents import describe
from geomndp.model.parts import rebuild

from ..cases import DTYPES, N, normal, quick, rotation, slow_but
from ..globes import POLES, TANGENT, ZONAL, awkward_points, unit_vectors


@pytest.fixture(params=slow_but(("hodge",), TANGENT))
def kernel(request):
    return TANGENT[request.param]


def surface(fn, x):
    """Surface gradient components (east, north) of a function of the point, at x (3,)."""
    return east_and_north(x) @ jax.grad(lambda a: fn(a / jnp.linalg.norm(a)))(x)


@pytest.mark.parametrize("name", slow_but(("matern",), ZONAL))
def test_covariance_of_surface_gradients(name, getkey):
    potential = ZONAL[name]
    x1, x2 = unit_vectors(N, key=getkey()), unit_vectors(N, key=getkey())

    def mixed(a, b):
        def slope(q):
            q = q / jnp.linalg.norm(q)
            return surface(lambda p: potential(p, q)[0, 0], a)

        return jax.jacfwd(slope)(b) @ east_and_north(b).T

    @quick
    def both(x1, x2):
        found = [jax.vmap(cls(potential, 2.0)) for cls in (SphereCurlFree, SphereDivergenceFree)]
        return jax.vmap(mixed)(x1, x2), *(fn(x1, x2) for fn in found)

    expected, gradient, rotated = both(x1, x2)
    expected = 2.0 * np.asarray(expected) / (1.5 * float(potential.slope(jnp.float64)))
    quarter = np.array([[0.0, -1.0], [1.0, 0.0]])
    assert_allclose(gradient, expected, atol=1e-10)
    assert_allclose(rotated, quarter @ expected @ quarter.T, atol=1e-10)


def test_along_and_across_the_geodesic():
    angle, potential = 0.7, TANGENT["matern"].potential
    x1, x2 = jnp.asarray([1.0, 0.0, 0.0]), jnp.asarray([np.cos(angle), np.sin(angle), 0.0])
    _, first, second = potential.derivatives(x1, x2, 2)
    slope = float(potential.slope(jnp.float64))
    along = np.cos(angle) * first - np.sin(angle) ** 2 * second
    assert_allclose(
        TANGENT["matern"](x1, x2), 1.5 * np.diag([along, first]) / slope, atol=1e-13
    )  # along the equator is east


def flow(kernel, getkey):
    """Divergence and curl of a posterior mean at a few points, by its own derivatives."""
    x, y = unit_vectors(4, key=getkey()), normal(4, 2, key=getkey())
    posterior = GP(kernel, noise=0.01).condition(x, y)
    points = jnp.concatenate([unit_vectors(3, key=getkey()), x[:1]])

    def at(p):
        def vector(q):
            q = q / jnp.linalg.norm(q)
            return to_ambient(q, posterior.mean_at(q[None])[0])

        frame = east_and_north(p)
        slopes = frame @ jax.jacfwd(vector)(p) @ frame.T  # (component, direction)
        return jnp.trace(slopes), slopes[1, 0] - slopes[0, 1]

    return quick(jax.vmap(at))(points)


def test_curl_and_divergence_vanish(getkey):
    divergence, curl = flow(TANGENT["curl-free"], getkey)
    assert_allclose(curl, 0.0, atol=1e-9)
    assert np.abs(divergence).max() > 1e-3
    divergence, curl = flow(TANGENT["divergence-free"], getkey)
    assert_allclose(divergence, 0.0, atol=1e-9)
    assert np.abs(curl).max() > 1e-3


@eqx.filter_jit
def draws(kernel, x, z):
    gram = kernel.gram(x)
    return gram.root_mv(z), jnp.sum(z * gram.mv(z))


turned = quick(rotate_field)


@pytest.mark.parametrize("reflect", [False, True])
def test_fields_turn_with_the_sphere(kernel, reflect, getkey):
    turn = rotation(3, key=getkey(), reflect=reflect)
    x = jnp.concatenate([unit_vectors(N - 2, key=getkey()), jnp.asarray(POLES)])
    z = normal(N, 2, key=getkey())
    moved, turned_z = turned(turn, x, z)
    found, expected = draws(kernel, moved, turned_z), draws(kernel, x, z)
    assert_allclose(found[0], turned(turn, x, expected[0])[1], atol=1e-7)
    assert_allclose(found[1], expected[1], rtol=1e-10)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_awkward_points(kernel, dtype, getkey):
    x = awkward_points(key=getkey(), dtype=dtype)

    def total(x):
        gram = kernel.gram(x).dense()
        return jnp.sum(jnp.sin(gram)), gram

    slopes, gram = quick(jax.grad(total, has_aux=True))(x)
    assert slopes.dtype == gram.dtype == dtype
    gram = np.asarray(gram, float)
    assert_allclose(np.diag(gram), gram[0, 0], rtol=1e-5)
    assert np.linalg.eigvalsh(gram).min() > -1e-5 * gram.max()
    assert np.isfinite(slopes).all()


def test_float32_is_near_float64(getkey):
    x = jnp.concatenate([unit_vectors(6, key=getkey()), awkward_points(key=getkey())])
    low = x.astype(jnp.float32)
    cross = quick(TANGENT["matern"].cross)
    # The rounded inputs themselves: what is left is the rounding of the formula.
    assert_allclose(cross(low, low), cross(*2 * [low.astype(jnp.float64)]), atol=1e-5)


def test_vectors_of_space(getkey):
    kernel = TANGENT["curl-free"]
    x1, x2 = unit_vectors(2, key=getkey())
    ambient = quick(kernel.ambient)(x1, x2)
    assert_allclose(x1 @ ambient, 0.0, atol=1e-14)
    assert_allclose(ambient @ x2, 0.0, atol=1e-14)
    _, first, second = kernel.potential.derivatives(x1, x2, 2)
    middle = first * np.eye(3) + second * np.outer(x2, x1)
    project = [np.eye(3) - np.outer(x, x) for x in (x1, x2)]
    expected = 1.5 * 0.4**2 * project[0] @ middle @ project[1]
    assert_allclose(ambient, expected, atol=1e-13)


def test_components_and_vectors(getkey):
    x = jnp.concatenate([unit_vectors(3, key=getkey()), jnp.asarray(POLES)])
    y = normal(5, 2, key=getkey())
    vectors = np.asarray(quick(to_ambient)(x, y))
    assert_allclose(np.sum(vectors * x, axis=1), 0.0, atol=1e-14)
    assert_allclose(quick(from_ambient)(x, vectors + 3.0 * np.asarray(x)), y, atol=1e-13)
    assert_allclose(east_and_north(POLES), [[[0, 1, 0], [-1, 0, 0]], [[0, 1, 0], [1, 0, 0]]])
    assert_allclose(quick(east_and_north)(jnp.asarray(POLES)), east_and_north(POLES))
    assert np.isfinite(quick(jax.jacrev(east_and_north))(jnp.asarray(POLES))).all()


def test_posterior_is_that_of_the_dense_formula(getkey):
    kernel = TANGENT["hodge"]
    x, y = unit_vectors(N, key=getkey()), normal(N, 2, key=getkey())
    gp = GP(kernel, noise=0.02)

    @quick
    def answers(x, y):
        posterior = gp.condition(x[:3], y[:3])
        return gp.gram(x).dense(), posterior.mean_at(x[3:]), posterior.gram(x[3:]).dense()

    k, mean, rest = map(np.asarray, answers(x, y))
    gain = np.linalg.solve(k[:6, :6], k[:6, 6:]).T
    expected = (gain @ np.asarray(y[:3]).reshape(-1)).reshape(2, 2)
    assert_allclose(mean, expected, atol=1e-8)
    assert_allclose(rest, k[6:, 6:] - gain @ k[:6, 6:], atol=1e-7)


@pytest.mark.parametrize("name", [*ZONAL, *TANGENT])
def test_files_hold_kernels_with_all_their_fields(name):
    kernel = ZONAL.get(name, TANGENT.get(name))
    assert rebuild("kernel", describe(kernel), "kernel") == kernel
