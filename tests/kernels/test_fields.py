"""Curl-free and divergence-free fields: symmetry, and the derivative that vanishes."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.gp import GP
from geomndp.kernels import (
    CurlFree,
    Diagonal,
    DivergenceFree,
    Matern52,
    SquaredExponential,
    White,
)

from ..cases import N, inputs, normal, rotation

FIELDS = {
    "curl-free-2": CurlFree(1.2, 1.5),
    "curl-free-3": CurlFree(1.2, 1.5, dim=3),
    "divergence-free-2": DivergenceFree(1.2, 1.5),
    "divergence-free-3": DivergenceFree(1.2, 1.5, dim=3),
    "rough-3": CurlFree(1.2, 1.5, 3, "matern-72") + DivergenceFree(0.9, 0.4, 3, "matern-52"),
    "nugget": CurlFree(1.2) + 0.05 * Diagonal(White(), 2),
    "sum": 0.3 * DivergenceFree(1.2) + Diagonal(SquaredExponential(0.7), 2),
}


@pytest.fixture(params=FIELDS)
def kernel(request):
    return FIELDS[request.param]


@pytest.mark.parametrize("reflect", [False, True])
def test_kernel_turns_with_its_inputs(kernel, reflect, getkey):
    d = kernel.dim
    x, turn = inputs(N, d, key=getkey()), rotation(d, key=getkey(), reflect=reflect)
    k = kernel.gram(x).dense().reshape(N, d, N, d)
    turned = kernel.gram(x @ turn.T).dense().reshape(N, d, N, d)
    assert_allclose(turned, np.einsum("ac,icjd,bd->iajb", turn, k, turn), atol=1e-12)
    pair = kernel(turn @ x[0], turn @ x[1])
    assert_allclose(pair, turn @ kernel(x[0], x[1]) @ turn.T, atol=1e-12)


@eqx.filter_jit
def draws(kernel, x, z):
    gram = kernel.gram(x)
    return gram.root_mv(z), gram.root_solve(z), gram.cholesky_mv(z)


@pytest.mark.parametrize("reflect", [False, True])
def test_draws_turn_with_inputs_and_noise(kernel, reflect, getkey):
    d = kernel.dim
    x, z = inputs(N, d, key=getkey()), normal(N, d, key=getkey())
    turn = rotation(d, key=getkey(), reflect=reflect)
    by_root, by_inverse, by_cholesky = draws(kernel, x, z)
    turned = draws(kernel, x @ turn.T, z @ turn.T)
    assert_allclose(turned[0], by_root @ turn.T, atol=1e-7)
    assert_allclose(turned[1], by_inverse @ turn.T, rtol=1e-5, atol=1e-5)
    if kernel is not FIELDS["sum"]:
        away = np.linalg.norm(turn - np.eye(d))  # a small rotation changes little
        moved = np.abs(turned[2] - by_cholesky @ turn.T).max()
        assert moved > 1e-5 * away, "a Cholesky root does not"  # 1e-7: rounding


def jacobians(kernel, d, getkey):
    """Jacobians of a posterior mean at a few locations."""
    x, y = inputs(4, d, key=getkey()), normal(4, d, key=getkey())
    posterior = GP(kernel, noise=0.01).condition(x, y)
    locations = jnp.concatenate([inputs(3, d, key=getkey()), x[:1]])
    return jax.jit(jax.vmap(jax.jacfwd(lambda a: posterior.mean_at(a[None])[0])))(locations)


@pytest.mark.parametrize("d", [2, 3])
def test_curl_of_a_posterior_mean_vanishes(d, getkey):
    jacobian = jacobians(CurlFree(1.2, dim=d), d, getkey)
    assert_allclose(jacobian, jacobian.transpose(0, 2, 1), atol=1e-10)
    assert np.abs(np.trace(jacobian, axis1=1, axis2=2)).max() > 1e-3


@pytest.mark.parametrize("d", [2, 3])
def test_divergence_of_a_posterior_mean_vanishes(d, getkey):
    jacobian = jacobians(DivergenceFree(1.2, dim=d), d, getkey)
    assert_allclose(np.trace(jacobian, axis1=1, axis2=2), 0.0, atol=1e-10)
    assert np.abs(jacobian - jacobian.transpose(0, 2, 1)).max() > 1e-3


def matern_72(lengthscale, variance):
    def covariance(a, b):
        s = 7**0.5 * jnp.sqrt(jnp.sum((a - b) ** 2)) / lengthscale
        return variance * (1 + s + 0.4 * s**2 + s**3 / 15) * jnp.exp(-s) * jnp.ones((1, 1))

    return covariance


POTENTIALS = {
    "squared-exponential": (SquaredExponential, 1.0),
    "matern-72": (matern_72, 7 / 5),  # -phi'' at zero: the variance of a gradient
    "matern-52": (Matern52, 5 / 3),
}


@pytest.mark.parametrize("name", POTENTIALS)
@pytest.mark.parametrize("d", [2, 3])
def test_kernels_are_derivatives_of_a_potential(d, name, getkey):
    x1, x2 = inputs(2, d, key=getkey())
    make, curvature = POTENTIALS[name]
    scale, options = 1.2, {"dim": d, "potential": name}
    potential = make(scale, 1.5 / curvature)
    # d/dx1 d/dx2 k0 = -hessian in the difference
    mixed = jax.jit(jax.jacfwd(jax.grad(lambda a, b: potential(a, b)[0, 0], 0), 1))(x1, x2)
    assert_allclose(CurlFree(scale, 1.5, **options)(x1, x2), scale**2 * mixed, atol=1e-12)
    expected = scale**2 * (np.trace(mixed) * np.eye(d) - mixed)
    assert_allclose(DivergenceFree(scale, 1.5, **options)(x1, x2), expected, atol=1e-12)
