"""Heat kernels: normalised, solutions of the heat equation, drawn from exactly."""

import math
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.interpolate import CubicSpline
from scipy.special import eval_legendre

from geomndp.geometry import (
    SO3,
    Euclidean,
    Exact,
    ProductManifold,
    Sphere,
    Torus,
    heat_kernel,
    random_walk,
)
from geomndp.geometry.heat import densities

from ..cases import DTYPES, slow_but
from .helper import points

RADIAL = {"circle": Sphere(1), "sphere": Sphere(2), "so3": SO3()}
CLOSED = {
    **RADIAL,
    "torus": Torus(2),
    "product": ProductManifold((Sphere(2), Torus(1), Euclidean(1))),
}
TIMES = (1e-6, 1e-4, 1e-2, 0.1, 0.49, 0.51, 0.99, 1.01, 1.99, 2.01, 5.0, 10.0)
radial = pytest.mark.parametrize("name", RADIAL)


def radius(name):
    return math.sqrt(2) * math.pi if name == "so3" else math.pi


def area(name, r):
    """Size of the sphere of radius r around a point."""
    if name == "so3":  # 8 pi^2 in the metric of angles, times 2^(3/2)
        return 2**1.5 * 16 * math.pi * np.sin(r / math.sqrt(8)) ** 2 / math.sqrt(2)
    return np.full_like(r, 2.0) if name == "circle" else 2 * math.pi * np.sin(r)


@partial(jax.jit, static_argnums=(0, 1))
def series(name, s, r):
    """Density by as many eigenfunctions as float64 sees."""
    before, legendre, dirichlet, total = 0.0, 1.0, 1.0, 0.0
    for n in range(int(15 / math.sqrt(s)) + 2):
        decay = math.exp(-n * (n + 1) * s / 2)
        if name == "circle":
            total += (2 if n else 1) * math.exp(-(n**2) * s / 2) * jnp.cos(n * r) / (2 * math.pi)
        elif name == "sphere":
            total += (2 * n + 1) * decay * legendre / (4 * math.pi)
            following = ((2 * n + 1) * jnp.cos(r) * legendre - n * before) / (n + 1)
            before, legendre = legendre, following
        else:
            total += (2 * n + 1) * math.sqrt(decay) * dirichlet / (2**1.5 * 8 * math.pi**2)
            dirichlet += 2 * jnp.cos((n + 1) * r / math.sqrt(2))
    return total


@radial
@pytest.mark.parametrize("dtype", DTYPES, ids=["float64", "float32"])
def test_density_is_the_series_to_precision(name, dtype):
    """Relative error everywhere that float64 sums know the density, the joints included."""
    kernel, fraction = heat_kernel(RADIAL[name]), np.linspace(0, 1, 97)
    density = jax.jit(kernel.log_density)
    for s in TIMES[3:]:
        r = radius(name) * fraction
        truth = np.asarray(series(name, s, jnp.asarray(r)))
        known = truth > 1e-4 * truth[0]
        found = density(jnp.full(len(r), s, dtype=dtype), jnp.asarray(r, dtype=dtype))
        bound = 1e-10 if dtype == jnp.float64 else 1e-5
        assert_allclose(np.asarray(found)[known], np.log(truth[known]), atol=bound, rtol=bound)


@radial
def test_density_integrates_to_one(name):
    kernel = heat_kernel(RADIAL[name])
    x, w = np.polynomial.legendre.leggauss(200)
    for s in TIMES:
        top = min(radius(name), 12 * math.sqrt(s))
        r = top * (x + 1) / 2
        density = np.exp(kernel.log_density(np.full_like(r, s), r, np))
        assert_allclose(np.sum(w * density * area(name, r)) * top / 2, 1, atol=1e-12)


@pytest.mark.parametrize("name", slow_but(("circle", "sphere"), CLOSED))
def test_density_solves_the_heat_equation(name, getkey):
    """d log p / ds = (div score + |score|^2) / 2, at random points and at the joints of the forms.

    The score here is the closed form's, so this also holds it to the density.
    """
    manifold, rule = CLOSED[name], Exact()
    kernel = heat_kernel(manifold)

    @jax.jit
    @jax.vmap
    def sides(s, centre, y):
        rate = jax.grad(lambda s: kernel.log_prob(s[None], centre[None], y[None])[0])(s)
        field = lambda y: kernel.score(s[None], centre[None], y)  # noqa: E731
        score, (divergence,) = rule(field, y[None], rule.prepare(y[None], None), manifold)
        return rate, (divergence + jnp.sum(score**2)) / 2

    s = jnp.asarray(TIMES[2:])
    centre = points(manifold, len(s), key=getkey())
    y = jax.jit(kernel.sample)(s, centre, key=getkey())
    rate, expected = sides(s, centre, y)
    assert_allclose(rate * s, expected * s, atol=1e-7)


@pytest.mark.parametrize("name", slow_but(set(CLOSED) - {"torus"}, CLOSED))
def test_score_is_the_gradient_of_the_log_density(name, getkey):
    manifold = CLOSED[name]
    kernel, s = heat_kernel(manifold), jnp.asarray(TIMES)
    centre = points(manifold, len(s), key=getkey())
    y = jax.jit(kernel.sample)(s, centre, key=getkey())
    gradient = jax.jit(jax.grad(lambda y: jnp.sum(kernel.log_prob(s, centre, y))))(y)
    scale = np.sqrt(TIMES)[:, None]
    score = eqx.filter_jit(kernel.score)(s, centre, y)
    tangent = np.asarray(jax.jit(manifold.project)(y, gradient))
    assert_allclose(scale * score, scale * tangent, atol=1e-8)
    single = eqx.filter_jit(kernel.score)(*(v.astype(jnp.float32) for v in (s, centre, y)))
    assert single.dtype == jnp.float32
    # Points as far apart as the noise are known to eps / sqrt(s) of that in single precision.
    assert np.all(np.abs(scale * (np.asarray(single) - np.asarray(score))) < 1e-5 + 1e-6 / scale)


@radial
def test_slope_is_that_of_the_series(name):
    slope_of = eqx.filter_jit(heat_kernel(RADIAL[name]).slope)
    for s in (0.49, 0.51, 1.0, 1.99, 2.01, 10.0):
        s = 2 * s if name == "so3" else s
        r = jnp.asarray(radius(name) * np.linspace(0, 1, 50))
        slope = slope_of(jnp.full(len(r), s), r)
        truth = jax.jit(jax.vmap(jax.grad(lambda r, s=s: jnp.log(series(name, s, r)))))(r)
        assert_allclose(slope[1:], truth[1:], atol=1e-8)


@pytest.mark.parametrize("dtype", slow_but((jnp.float32,), DTYPES), ids=["float64", "float32"])
@radial
def test_nothing_breaks_at_the_centre_nor_across(name, dtype):
    manifold, s = RADIAL[name], jnp.asarray(TIMES, dtype=dtype)
    kernel = heat_kernel(manifold)
    y = points(manifold, len(s), key=jr.key(0), dtype=dtype)
    across = jax.jit(lambda y: manifold.exp(y, radius(name) * manifold.basis(y)[:, 0]))(y)

    @jax.jit
    def everything(s, centre, y):
        values = kernel.log_prob(s, centre, y), kernel.score(s, centre, y)
        total = lambda *a: jnp.sum(kernel.log_prob(*a)) + jnp.sum(kernel.score(*a))  # noqa: E731
        return values, jax.grad(total, argnums=(0, 1, 2))(s, centre, y)

    for other in (y, across):
        (log_prob, score), gradients = everything(s, other, y)
        for value in (log_prob, score, *gradients):
            assert np.all(np.isfinite(value))
    assert_allclose(everything(s, y, y)[0][1], np.zeros(y.shape), atol=0.2)
    assert_allclose(eqx.filter_jit(kernel.displace)(0 * s, y, y), y, atol=1e-6)


def deviation(probabilities):
    """Kolmogorov and Smirnov's distance to the uniform law, times the root of the number."""
    u = np.sort(np.asarray(probabilities))
    ranks = np.arange(len(u) + 1) / len(u)
    return max(np.max(ranks[1:] - u), np.max(u - ranks[:-1])) * math.sqrt(len(u))


@partial(jax.jit, static_argnums=0)
def drawn(manifold, s, centre, *, key):
    """Draws, how far they are, and in which direction."""
    y = heat_kernel(manifold).sample(s, centre, key=key)
    return manifold.distance(centre, y), manifold.to_tangent_coords(centre, manifold.log(centre, y))


@radial
@pytest.mark.parametrize("s", [1e-6, 1e-4, 1e-2, 0.1, 0.5, 1.0, 3.0, 10.0])
def test_draws_follow_the_law(name, s):
    """1e5 draws: the distance against the density's integral, the direction against uniform."""
    manifold, draws = RADIAL[name], 100_000
    kernel = heat_kernel(manifold)
    centre = jnp.broadcast_to(points(manifold, 1, key=jr.key(1)), (draws, manifold.ambient_dim))
    found = drawn(manifold, jnp.full(draws, s), centre, key=jr.key(2))
    distance, direction = map(np.asarray, found)
    top = min(radius(name), 12 * math.sqrt(s))
    x, w = np.polynomial.legendre.leggauss(8)
    edges = np.linspace(0, top, 401)
    r = edges[:-1, None] + (x + 1)[None, :] * top / 800
    mass = np.exp(kernel.log_density(np.full_like(r, s), r, np)) * area(name, r)
    law = CubicSpline(edges, np.append(0.0, np.cumsum(mass @ w) * top / 800))
    assert deviation(law(distance)) < 1.63  # one in a hundred
    direction = direction / np.linalg.norm(direction, axis=1, keepdims=True)
    assert np.all(np.abs(direction.mean(axis=0)) < 5 / math.sqrt(draws))


def test_random_walk_has_the_law_of_the_closed_form():
    sphere, draws, s = Sphere(2), 20_000, 0.5
    centre = jnp.broadcast_to(jnp.asarray([0.0, 0.0, 1.0]), (draws, 3))
    y = jax.jit(lambda key: random_walk(sphere, jnp.full(draws, s), centre, key=key, steps=50))(
        jr.key(0)
    )
    for degree in (1, 2, 3):  # eigenfunctions decay at the rate of their eigenvalue
        mean = np.mean(eval_legendre(degree, np.asarray(y[:, 2])))
        assert abs(mean - math.exp(-degree * (degree + 1) * s / 2)) < 4 / math.sqrt(draws) + 2e-3


def test_no_closed_form_is_an_error():
    with pytest.raises(ValueError, match="heat kernel in closed form"):
        heat_kernel(Sphere(3))
    assert densities.sphere(np.asarray(0.3), np.asarray(0.1), np).dtype == np.float64
