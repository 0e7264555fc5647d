"""Solvers on the sphere: orders of the flow, and the law of every reverse rule."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp import samplers
from geomndp.solve import (
    Adaptive,
    EulerMaruyama,
    Exponential,
    Field,
    Multistep,
    Ode,
    Power,
    ReverseState,
)

from ..cases import SOLVERS
from ..spheres import EPS, NOISING, SPHERE, between, centres, oracle

X = jnp.asarray([[-0.5], [0.2]])


@pytest.mark.parametrize("name", SOLVERS)
def test_orders_of_the_flow(name):
    (solver, order), field = SOLVERS[name], Field(NOISING, oracle(), X)
    y = SPHERE.exp(between(X), 0.1 * SPHERE.basis(between(X))[:, 0])

    def end(solver, steps):
        times = Power(2.0)(NOISING.schedule, steps, 0.02, jnp.float64)
        return solver.integrate(field.flow, times, y, SPHERE.onto)[0]

    exact = jax.jit(lambda: end(SOLVERS["rk4"][0], 256))()
    errors = [np.abs(jax.jit(lambda n=n: end(solver, n))() - exact).max() for n in (32, 64)]
    assert np.log2(errors[0] / errors[1]) > order - 0.35
    assert_allclose(jnp.linalg.norm(exact, axis=1), np.ones(2), atol=1e-12)
    if name == "rk4":
        found = jax.jit(lambda: end(Adaptive(1e-8, 1e-9), 1))()
        assert_allclose(found, exact, atol=1e-6)


RULES = {
    "euler-maruyama": (EulerMaruyama(), 100),
    "exponential": (Exponential(), 60),
    "multistep": (Multistep(), 30),
    "multistep-flow": (Multistep(False), 30),
    "rk4": (Ode(), 12),
}


@pytest.mark.parametrize("name", RULES)
def test_reverse_rules_reach_the_data(name):
    """Means of the coordinates and of their products, over 4000 draws of two correlated points."""
    rule, steps = RULES[name]
    score, draws = oracle(), 4000
    none = samplers.Observations(X[:0], jnp.zeros((0, 3)), jnp.zeros(0), False)
    problem = samplers.Problem(NOISING, score, X, none, EPS)
    sampler = samplers.Amortised(steps, rule)
    found = jax.jit(lambda key: sampler.draw(problem, key=key, num_samples=draws).y)(jr.key(1))
    weight = np.asarray(score.weights) * np.exp(-np.asarray(score.spreads))
    mean = np.einsum("j,jnp->np", weight, np.asarray(centres(X)))
    assert_allclose(np.mean(found, axis=0), mean, atol=4.5 / np.sqrt(draws))
    # Given the component the points are independent.
    weight = weight * np.exp(-np.asarray(score.spreads))
    cross = np.einsum("j,jp,jq->pq", weight, *np.moveaxis(np.asarray(centres(X)), 1, 0))
    product = np.mean(np.asarray(found)[:, 0, :, None] * np.asarray(found)[:, 1, None, :], axis=0)
    assert_allclose(product, cross, atol=4.5 / np.sqrt(draws))


def test_rules_stay_on_the_sphere_in_single_precision():
    x = X.astype(jnp.float32)
    field = Field(NOISING, oracle(), x)
    y = between(X).astype(jnp.float32)
    t, s = jnp.asarray(0.4, jnp.float32), jnp.asarray(0.2, jnp.float32)
    for rule, _ in RULES.values():
        moved = jax.jit(
            lambda y, rule=rule: rule.step(field, t, t, s, ReverseState(y, y), y[::-1])
        )(y)
        assert moved.y.dtype == jnp.float32
        assert_allclose(jnp.linalg.norm(moved.y, axis=1), np.ones(2), atol=1e-6)
