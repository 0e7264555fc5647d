"""Riemannian divergence: Laplace-Beltrami eigenfunctions, integrals, probes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.geometry import SO3, Exact, Hutchinson, Sphere, Torus

from ..cases import normal
from .helper import COMPACT, points

N = 4
# Linear functions of the embedding are eigenfunctions of the Laplacian.
EIGENVALUES = {"circle": -1.0, "sphere": -2.0, "sphere-4": -4.0, "torus": -1.0, "so3": -1.0}


def gradient(manifold, f):
    """Riemannian gradient of a function of all points together."""
    return lambda y: manifold.project(y, jax.grad(f)(y))


@pytest.mark.parametrize("name", EIGENVALUES)
def test_divergence_of_gradient_is_the_laplacian(name, getkey):
    manifold = COMPACT[name]
    a, y = (normal(N, manifold.ambient_dim, key=getkey()), points(manifold, N, key=getkey()))

    def f(y):
        return jnp.sum(a * y)

    rule = Exact()
    field = gradient(manifold, f)
    value, (found,) = jax.jit(lambda y: rule(field, y, rule.prepare(y, None), manifold))(y)
    assert_allclose(found, EIGENVALUES[name] * f(y), rtol=1e-10)
    assert_allclose(value, jax.jit(field)(y), rtol=1e-12)


@pytest.mark.parametrize("manifold", [Sphere(2), Torus(2), SO3()], ids=["sphere", "torus", "so3"])
@pytest.mark.parametrize("kind", ["rademacher", "gaussian"])
def test_probes_are_unbiased(manifold, kind, getkey):
    mix = normal(manifold.ambient_dim, manifold.ambient_dim, key=getkey())

    def field(y):
        return manifold.project(y, jnp.tanh(y @ mix) + jnp.roll(y, 1, axis=0))

    y = points(manifold, N, key=getkey())
    mask = jnp.asarray([1.0, 0.0, 1.0, 1.0])
    exact, rule = Exact(), Hutchinson(4096, kind)

    @jax.jit
    def both(y, key):
        _, (truth,) = exact(field, y, exact.prepare(y, mask), manifold)
        _, estimates = rule(field, y, rule.prepare(y, mask, key=key), manifold)
        return truth, jnp.mean(estimates), rule.standard_error(estimates)

    truth, mean, error = both(y, getkey())
    assert abs(mean - truth) < 4.5 * error


def test_divergence_integrates_to_zero_on_the_sphere(getkey):
    """Gauss: over a closed surface; by a product rule that is exact for polynomials."""
    sphere, mix = Sphere(2), normal(3, 3, key=getkey())
    z, w = np.polynomial.legendre.leggauss(12)
    phi = 2 * np.pi * np.arange(24) / 24
    r = np.sqrt(1 - z**2)[:, None]
    grid = np.stack(np.broadcast_arrays(r * np.cos(phi), r * np.sin(phi), z[:, None]), axis=-1)

    def field(y):
        return sphere.project(y, (y @ mix) ** 2 + y @ mix)

    def divergence(y):
        rule = Exact()
        return rule(field, y[None], rule.prepare(y[None], None), sphere)[1][0]

    values = jax.jit(jax.vmap(jax.vmap(divergence)))(jnp.asarray(grid))
    assert abs(np.sum(w[:, None] * np.asarray(values))) < 1e-12 * np.max(np.abs(values)) * 288
