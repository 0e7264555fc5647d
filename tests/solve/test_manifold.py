"""Solvers on the sphere: orders of the flow, and the law of every reverse step."""

from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp import samplers
from geomndp.score import NetworkScore, PreconditionK
from geomndp.solve import (
    RK4,
    Adaptive,
    ConditionalDynamics,
    EulerMaruyama,
    Exponential,
    Multistep,
    Ode,
    PowerTimeGrid,
    ReverseState,
)

from ..cases import SOLVERS, quick, slow_but
from ..spheres import EPS, NOISING, SPHERE, between, centres, oracle

X = jnp.asarray([[-0.5], [0.2]])


@partial(quick, static_argnums=0)
def end(solver, times, y):
    """Where the flow ends."""
    return solver.integrate(
        ConditionalDynamics(NOISING, oracle(), X).flow, times, y, SPHERE.retract
    )[0]


def knots(steps):
    """Times of a grid; the last is repeated, for one program whatever the number of steps."""
    times = PowerTimeGrid(2.0)(NOISING.schedule, steps, 0.02, jnp.float64)
    return jnp.asarray(np.pad(np.asarray(times), (0, 256 - steps), mode="edge"))


@pytest.fixture(scope="module")
def flow():
    """A point, and where the flow takes it."""
    y = SPHERE.exp(between(X), 0.1 * SPHERE.basis(between(X))[:, 0])
    return y, end(RK4(), knots(256), y)


@pytest.mark.parametrize("name", SOLVERS)
def test_orders_of_the_flow(name, flow):
    (solver, order), (y, exact) = SOLVERS[name], flow
    errors = [np.abs(end(solver, knots(n), y) - exact).max() for n in (32, 64)]
    assert np.log2(errors[0] / errors[1]) > order - 0.35
    assert_allclose(jnp.linalg.norm(exact, axis=1), np.ones(2), atol=1e-12)


def test_adaptive_steps_end_there_too(flow):
    y, exact = flow
    times = knots(256)
    found = end(Adaptive(1e-8, 1e-9), jnp.stack([times[0], times[-1]]), y)
    assert_allclose(found, exact, atol=1e-6)


STEPS = {
    "euler-maruyama": (EulerMaruyama(), 100),
    "exponential": (Exponential(), 60),
    "multistep": (Multistep(), 30),
    "multistep-flow": (Multistep(False), 30),
    "rk4": (Ode(), 12),
}


@pytest.mark.parametrize("name", slow_but(("exponential", "multistep-flow"), STEPS))
def test_reverse_steps_reach_the_data(name):
    """Means of the coordinates and of their products, over 1500 draws of two correlated points."""
    step, steps = STEPS[name]
    score, draws = oracle(), 1500
    none = samplers.Observations(X[:0], jnp.zeros((0, 3)), jnp.zeros(0), False)
    problem = samplers.Problem(NOISING, score, X, none, EPS)
    sampler = samplers.Amortised(steps, step)
    found = jax.jit(lambda key: sampler.draw(problem, key=key, num_samples=draws).y)(jr.key(1))
    bound = 2.75 / np.sqrt(draws)  # nearly five standard errors of a coordinate
    weight = np.asarray(score.weights) * np.exp(-np.asarray(score.spreads))
    mean = np.einsum("j,jnp->np", weight, np.asarray(centres(X)))
    assert_allclose(np.mean(found, axis=0), mean, atol=bound)
    # Given the component the points are independent.
    weight = weight * np.exp(-np.asarray(score.spreads))
    cross = np.einsum("j,jp,jq->pq", weight, *np.moveaxis(np.asarray(centres(X)), 1, 0))
    product = np.mean(np.asarray(found)[:, 0, :, None] * np.asarray(found)[:, 1, None, :], axis=0)
    assert_allclose(product, cross, atol=bound)


def test_steps_stay_on_the_sphere_in_single_precision():
    """With any tangent dynamics for a score: the steps are tested, not it."""
    x = X.astype(jnp.float32)
    score = NetworkScore(lambda t, x, y, mask: SPHERE.project(y, y[:, ::-1]), PreconditionK())
    dynamics = ConditionalDynamics(NOISING, score, x)
    y = between(X).astype(jnp.float32)
    t, s = jnp.asarray(0.4, jnp.float32), jnp.asarray(0.2, jnp.float32)
    for step, _ in STEPS.values():
        moved = quick(lambda y, step=step: step(dynamics, t, t, s, ReverseState(y, y), y[::-1]))(y)
        assert moved.y.dtype == jnp.float32
        assert float(jnp.abs(moved.y - y).max()) > 0.01
        assert_allclose(jnp.linalg.norm(moved.y, axis=1), np.ones(2), atol=1e-6)
