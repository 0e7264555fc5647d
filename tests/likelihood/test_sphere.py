"""Likelihoods on the sphere, with respect to area: closed form, integral, contexts, rotations."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp import Model
from geomndp.likelihood import Flow, Hutchinson
from geomndp.score import NetworkScore, PreconditionK
from geomndp.solve import Heun

from ..cases import rotation
from ..spheres import EPS, NOISING, between, drawn, oracle, truth

X = jnp.asarray([[-1.0], [-0.3], [0.4], [1.0]])
# Heun's method has half the evaluations in a step of RK4, so half the program to compile.
LAW, FLOW = Model(NOISING, oracle(), EPS), Flow(Heun(), steps=160)


def test_value_is_that_of_the_closed_form():
    for key in (0, 1):
        y = drawn(X, key=jr.key(key))
        found = LAW.log_prob_info(X, y, flow=FLOW)
        assert abs(found.value - truth(oracle(), jnp.asarray(EPS), X, y)) < 1e-3
        assert found.solver_error < 1e-3


def test_density_integrates_to_one():
    """One point, over the whole sphere: Gauss-Legendre in height, trapezium in longitude."""
    z, w = np.polynomial.legendre.leggauss(10)
    angles = 2 * np.pi * np.arange(20) / 20
    r = np.sqrt(1 - z**2)[:, None]
    parts = np.broadcast_arrays(r * np.cos(angles), r * np.sin(angles), z[:, None])
    grid = jnp.asarray(np.stack(parts, axis=-1).reshape(-1, 1, 3))
    flow = Flow(Heun(), steps=40)
    density = jax.jit(jax.vmap(lambda y: LAW.log_prob_info(X[:1], y, flow=flow).value))
    values = np.exp(np.asarray(density(grid))).reshape(10, 20)
    assert abs(np.sum(w[:, None] * values) * 2 * np.pi / 20 - 1) < 1e-3


@pytest.mark.parametrize("noise", [pytest.param(0.0, marks=pytest.mark.slow), 0.03])
def test_conditional_law_in_one_solve(noise):
    """Against the closed form: the joint at time zero, or at that of the noise, less the context's.

    The context is seen through a heat kernel of time `noise`. With the true law at time one: what
    is left of the data there, 3 exp(-B(1)) = 0.0017 per point, would be seen.
    """
    flow = Flow(Heun(), steps=160, terminal="exact")
    y = drawn(X, key=jr.key(2)).at[:2].set(between(X)[:2])
    found = LAW.condition(X[:2], y[:2], noise=noise).log_prob_info(X[2:], y[2:], flow=flow)
    seen = NOISING.schedule.inverse(jnp.full(2, noise))
    joint = truth(oracle(), jnp.concatenate([seen, jnp.full(2, EPS)]), X, y)
    assert_allclose(found.value, joint - truth(oracle(), seen, X[:2], y[:2]), atol=1e-3)


def test_rotated_tracks_are_as_likely_under_an_invariant_law():
    """A network of inner products only: joint and conditional, 12 points."""

    def net(t, x, y, mask):
        near = jnp.exp(-((x - x.T) ** 2))
        return (near * jnp.tanh(y @ y.T)) @ y * jnp.exp(-3 * t)[:, None]

    law = Model(NOISING, NetworkScore(net, PreconditionK(), conditional=True), EPS)
    x = jnp.linspace(-1.0, 1.0, 12)[:, None]
    turn, y = rotation(3, key=jr.key(3)), between(x)
    assert abs(law.log_prob(x, y) - law.log_prob(x, y @ turn.T)) < 1e-4
    plain, turned = (law.condition(x[:5], v[:5]).log_prob(x[5:], v[5:]) for v in (y, y @ turn.T))
    assert abs(plain - turned) < 1e-4


@pytest.mark.slow
def test_probes_and_padding():
    y = drawn(X, key=jr.key(0))
    exact = LAW.log_prob_info(X, y, flow=FLOW).value
    probed = LAW.log_prob_info(X, y, jr.key(0), flow=Flow(divergence=Hutchinson(64)))
    assert abs(probed.value - exact) < 4.5 * probed.probe_error < 2
    mask = jnp.asarray([1.0, 1.0, 0.0, 1.0])
    padded = LAW.log_prob_info(X, y.at[2].set(jnp.nan), mask=mask, flow=FLOW).value
    expected = truth(oracle(), jnp.asarray(EPS), X[mask > 0], y[mask > 0])
    assert_allclose(padded, expected, atol=1e-3)


@pytest.mark.slow
def test_single_precision():
    y = drawn(X, key=jr.key(0))
    found = LAW.log_prob(X.astype(jnp.float32), y.astype(jnp.float32))
    assert found.dtype == jnp.float32
    assert abs(float(found) - truth(oracle(), jnp.asarray(EPS), X, y)) < 5e-3


def test_points_off_the_sphere_are_refused():
    with pytest.raises(ValueError, match="y on Sphere, got points off it in rows 1"):
        LAW.log_prob(X, between(X).at[1].multiply(1.1))
    with pytest.raises(ValueError, match="y of the context on Sphere"):
        LAW.condition(X, 2 * between(X))
