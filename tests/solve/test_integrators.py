"""Integrators: their orders, on a plain equation and on a probability flow."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.kernels import White
from geomndp.score import GaussianScore
from geomndp.solve import Adaptive, ConditionalDynamics, PowerTimeGrid

from ..cases import DATA, DTYPES, SOLVERS, inputs, normal, ou

EPS = 5e-4


@pytest.fixture(params=SOLVERS)
def case(request):
    return SOLVERS[request.param]


def pendulum(t, y):
    """A field with a closed solution: y = exp(-t^2) y_0, and an angle that turns at rate t."""
    values, (p, q) = y
    return -2 * t * values, (-t * q, t * p)


def pendulum_at(t):
    angle = 0.5 * t**2
    return jnp.exp(-(t**2)) * jnp.ones(3), (jnp.cos(angle), jnp.sin(angle))


def gap(one, two):
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True)
    return max(float(jnp.max(jnp.abs(a - b))) for a, b in pairs)


@pytest.mark.parametrize("backwards", [False, True])
def test_order_on_a_plain_equation(case, backwards):
    solver, order = case
    errors = []
    for steps in (8, 16):
        times = jnp.linspace(0.0, 1.5, steps + 1) ** 1.2
        times = times[::-1] if backwards else times
        y, evaluations = solver.integrate(pendulum, times, pendulum_at(times[0]))
        errors.append(gap(y, pendulum_at(times[-1])))
        assert evaluations == steps * solver.evaluations
    assert abs(np.log2(errors[0] / errors[1]) - order) < 0.6


def exact_flow(noising, gp, x, t, s, y):
    """With white noise the flow maps Gaussians by the ratio of symmetric roots."""
    (mean_t, gram_t), (mean_s, gram_s) = (
        GaussianScore(gp).law(noising, jnp.asarray(w), x) for w in (t, s)
    )
    return mean_s + gram_s.root_mv(gram_t.root_solve(y - mean_t))


@eqx.filter_jit
def follow(solver, noising, gp, x, times, y):
    return solver.integrate(ConditionalDynamics(noising, GaussianScore(gp), x).flow, times, y)


def flow_error(solver, steps, *, key):
    noising, gp, x = ou("white"), DATA["matern-mean"], inputs(5, key=key)
    times = PowerTimeGrid(3.0)(noising.schedule, steps, EPS, jnp.float64)[::-1]
    y = normal(5, 1, key=key)
    found, evaluations = follow(solver, noising, gp, x, times, y)
    return gap(found, exact_flow(noising, gp, x, 1.0, EPS, y)), evaluations


def test_order_on_the_flow(case, getkey):
    solver, order = case
    key = getkey()
    first, second = (flow_error(solver, steps, key=key)[0] for steps in (32, 64))
    assert second < 0.1
    assert np.log2(first / second) > order - 0.5


def test_adaptive(getkey):
    key = getkey()
    error, evaluations = flow_error(Adaptive(), 1, key=key)
    fine, _ = flow_error(Adaptive(rtol=1e-9, atol=1e-10), 1, key=key)
    assert error < 1e-3
    assert fine < 1e-7
    assert 20 < evaluations < 600


def test_adaptive_counts_its_evaluations():
    calls = []

    def field(t, y):
        jax.debug.callback(lambda: calls.append(1))
        return pendulum(t, y)

    _, evaluations = Adaptive().integrate(field, jnp.asarray([0.0, 1.5]), pendulum_at(0.0))
    jax.effects_barrier()
    assert evaluations == len(calls)


def test_adaptive_gives_up_loudly():
    with pytest.raises(Exception, match="maximum number of solver steps"):
        Adaptive(max_steps=2).integrate(pendulum, jnp.asarray([0.0, 1.5]), pendulum_at(0.0))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("solver", [*(s for s, _ in SOLVERS.values()), Adaptive()], ids=str)
def test_dtype_follows(solver, dtype):
    times, y = jnp.asarray([0.0, 0.5, 1.0], dtype), jnp.ones((3, 1), dtype)
    found, evaluations = solver.integrate(lambda t, y: -t * y, times, y)
    assert found.dtype == dtype
    assert jnp.issubdtype(evaluations.dtype, jnp.integer)
    assert_allclose(found, np.exp(-0.5), rtol=0.4)


def test_no_steps_do_nothing(case):
    solver, _ = case
    y, evaluations = solver.integrate(pendulum, jnp.asarray([0.3]), pendulum_at(0.3))
    assert gap(y, pendulum_at(0.3)) == 0
    assert evaluations == 0


def test_limiting_law_is_at_rest(case, getkey):
    # Data that are the limiting law already: the flow does not move.
    noising, x = ou("white", mean=None), inputs(5, key=getkey())
    gp = type(DATA["se"])(White(1.3))
    y = normal(5, 1, key=getkey())
    found, _ = follow(case[0], noising, gp, x, jnp.asarray([1.0, 0.5, 0.01]), y)
    assert_allclose(found, y, rtol=1e-10)
