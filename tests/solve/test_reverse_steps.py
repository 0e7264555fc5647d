"""Reverse steps: with a Gaussian score every step is affine, so their laws are computed exactly."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.gp import GP
from geomndp.kernels import White
from geomndp.score import GaussianScore
from geomndp.solve import (
    RK4,
    ConditionalDynamics,
    Context,
    EulerMaruyama,
    Exponential,
    Heun,
    Multistep,
    Ode,
    PowerTimeGrid,
    ReverseState,
    ancestral,
)

from ..cases import DATA, DTYPES, N, inputs, normal, ou

EPS = 5e-4
# Reverse step, and the order of the law that it leaves.
STEPS = {
    "euler-maruyama": (EulerMaruyama(), 1),
    "exponential": (Exponential(), 1),
    "exponential-half": (Exponential(0.5), 1),
    "exponential-flow": (Exponential(0.0), 1),
    "multistep": (Multistep(), 2),
    "multistep-flow": (Multistep(stochastic=False), 2),
    "heun": (Ode(Heun()), 2),
    "rk4": (Ode(), 4),
}
DETERMINISTIC = ("exponential-flow", "multistep-flow", "heun", "rk4")


@pytest.fixture(params=STEPS)
def case(request):
    return STEPS[request.param]


def make_dynamics(limit="white", name="matern-mean", context=False, *, key):
    keys = jr.split(key, 3)
    noising, x = ou(limit), inputs(N, key=keys[0])
    if not context:
        return ConditionalDynamics(noising, GaussianScore(DATA[name]), x)
    context = Context(inputs(N, key=keys[1]), normal(N, 1, key=keys[2]), jnp.zeros(N))
    return ConditionalDynamics(noising, GaussianScore(DATA[name]), x, context=context)


def law_at(dynamics, t):
    """Exact mean and covariance of the noised values, given any context."""
    gp = dynamics.score.gp
    if dynamics.context is not None:
        gp = gp.condition(dynamics.context.x, dynamics.context.y)
    mean, gram = GaussianScore(gp).law(dynamics.noising, jnp.asarray(t), dynamics.x)
    return mean[:, 0], gram.dense()


def intervals(times):
    """Times before, at the start and at the end of every step."""
    return zip(np.concatenate([times[:1], times[:-2]]), times[:-1], times[1:], strict=True)


@eqx.filter_jit
def affine(step, dynamics, before, t, s):
    """Matrices of one step, as a map of (values, memory) and of the noise, and its offset."""

    def flat(state, xi):
        halves = ReverseState(*state.reshape(2, -1, 1))
        return jnp.stack(step(dynamics, before, t, s, halves, xi)).reshape(-1)

    n = len(dynamics.x)
    state, xi = jnp.zeros(2 * n), jnp.zeros((n, 1))
    by_state, by_xi = jax.jacfwd(flat, (0, 1))(state, xi)
    return by_state, by_xi.reshape(2 * n, n), flat(state, xi)


def propagate(step, dynamics, times, mean, covariance):
    """Law of the values after the steps."""
    n, noise = len(mean), np.asarray(dynamics.gram().dense())
    mean, covariance = np.tile(mean, 2), np.tile(covariance, (2, 2))
    for interval in intervals(np.asarray(times)):
        by_state, by_xi, offset = map(np.asarray, affine(step, dynamics, *interval))
        mean = by_state @ mean + offset
        covariance = by_state @ covariance @ by_state.T + by_xi @ noise @ by_xi.T
    return mean[:n], covariance[:n, :n]


def divergence(one, two):
    """KL divergence between two normal laws."""
    (mean1, cov1), (mean2, cov2) = one, two
    gain, gap = np.linalg.solve(cov2, cov1), np.asarray(mean2 - mean1)
    log_ratio = np.linalg.slogdet(cov2)[1] - np.linalg.slogdet(cov1)[1]
    return 0.5 * (np.trace(gain) - len(gap) + log_ratio + gap @ np.linalg.solve(cov2, gap))


def error_after(step, dynamics, steps, power=3.0):
    times = PowerTimeGrid(power)(dynamics.noising.schedule, steps, EPS, jnp.float64)[::-1]
    found = propagate(step, dynamics, times, *law_at(dynamics, 1.0))
    return divergence(found, law_at(dynamics, EPS))


def test_converges_to_the_right_law(case):
    step, order = case
    dynamics = make_dynamics("nugget", context=True, key=jr.key(1))
    pair = (10, 20) if order == 4 else (48, 96)
    first, second = (error_after(step, dynamics, steps) for steps in pair)
    assert second < 0.01
    # KL is quadratic in the error of the moments.
    assert np.log2(first / second) / 2 > order - 0.35


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_flows_end_where_the_flow_does(name, getkey):
    step, order = STEPS[name]
    dynamics = make_dynamics("nugget", context=True, key=jr.key(1))
    y = normal(N, 1, key=getkey())

    def end(step, steps):
        times = PowerTimeGrid(3.0)(dynamics.noising.schedule, steps, EPS, jnp.float64)[::-1]
        start = np.asarray(y[:, 0]), np.zeros((N, N))
        return propagate(step, dynamics, times, *start)[0]

    exact = end(Ode(RK4()), 200)
    errors = [np.abs(end(step, steps) - exact).max() for steps in (48, 96)]
    assert errors[1] < 0.05
    assert np.log2(errors[0] / errors[1]) > order - 0.4


@pytest.mark.parametrize("step", [Exponential(0.6), Multistep(), Multistep(False)], ids=str)
def test_exact_in_one_step_when_the_clean_values_are_known(step, getkey):
    noising, x = ou("nugget"), inputs(N, key=getkey())
    dynamics = ConditionalDynamics(
        noising, GaussianScore(GP(White(1e-10), DATA["matern-mean"].mean)), x
    )
    times = jnp.asarray([0.9, 0.2, 0.05])
    found = propagate(step, dynamics, times, *law_at(dynamics, 0.9))
    expected = law_at(dynamics, 0.05)
    assert_allclose(found[0], expected[0], rtol=1e-6)
    assert_allclose(found[1], expected[1], rtol=1e-5, atol=1e-8)


def test_one_step_by_its_formula(getkey):
    dynamics, t, s = make_dynamics("nugget", key=getkey()), jnp.asarray(0.5), jnp.asarray(0.3)
    noising = dynamics.noising
    y, xi = normal(N, 1, key=getkey()), normal(N, 1, key=getkey())
    state, m = ReverseState(y, y), dynamics.mean()
    u, gradient = dynamics.u(t, y), dynamics.u(t, y) / noising.sigma(t)
    delta = noising.schedule.beta(t) * (t - s)  # what the steps are for beta = c t
    expected = y - delta * (0.5 * (m - y) - gradient) + jnp.sqrt(delta) * xi
    found = EulerMaruyama()(dynamics, t, t, s, state, xi)
    assert_allclose(found.y, expected, rtol=1e-10, atol=1e-10)
    clean = dynamics.clean(t, y, u)
    a_s, kept, fresh = ancestral(noising, t, s, 0.6)
    expected = m + a_s * (clean - m) - kept * u + fresh * xi
    found = Exponential(0.6)(dynamics, t, t, s, state, xi)
    assert_allclose(found.y, expected, rtol=1e-10, atol=1e-10)
    assert_allclose(found.clean, clean, rtol=1e-10, atol=1e-10)
    # Without memory the multistep steps are the one-step ones.
    for one, two in ((Exponential(), Multistep()), (Exponential(0.0), Multistep(False))):
        first, second = (step(dynamics, t, t, s, state, xi) for step in (one, two))
        assert_allclose(first.y, second.y, rtol=1e-10, atol=1e-10)


def test_steps_to_time_zero_end_at_the_clean_estimate(getkey):
    dynamics, y, xi = (
        make_dynamics(key=getkey()),
        normal(N, 1, key=getkey()),
        normal(N, 1, key=getkey()),
    )
    t, zero, before = jnp.asarray(0.1), jnp.asarray(0.0), jnp.asarray(0.2)
    clean = dynamics.clean(t, y, dynamics.u(t, y))
    for step in (Exponential(), Exponential(0.0), Multistep(), Multistep(False)):
        found = step(dynamics, before, t, zero, ReverseState(y, y + 1), xi)
        assert_allclose(found.y, clean, rtol=1e-10)


def test_masked_rows_do_not_matter(case, getkey):
    step, _ = case
    dynamics, mask = make_dynamics("nugget", key=getkey()), jnp.asarray([1.0, 1.0, 0.0, 1.0, 1.0])
    y, xi = normal(N, 1, key=getkey()), normal(N, 1, key=getkey())
    t, s, kept = jnp.asarray(0.5), jnp.asarray(0.3), np.asarray([0, 1, 3, 4])
    few = eqx.tree_at(lambda f: f.x, dynamics, dynamics.x[kept])
    masked = ConditionalDynamics(dynamics.noising, dynamics.score, dynamics.x.at[2].set(9.0), mask)
    y = y.at[2].set(1e6)
    found = step(masked, t, t, s, ReverseState(y, y), xi).y
    expected = step(few, t, t, s, ReverseState(y[kept], y[kept]), xi[kept]).y
    assert_allclose(found[kept], expected, rtol=1e-7)
    assert jnp.all(jnp.isfinite(found))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtype_follows(case, dtype):
    step, _ = case
    x, y = jnp.zeros((N, 2), dtype), jnp.zeros((N, 1), dtype)
    dynamics = ConditionalDynamics(ou("nugget"), GaussianScore(DATA["se"]), x)
    t, s = jnp.asarray(0.5, dtype), jnp.asarray(0.3, dtype)
    state = jax.eval_shape(lambda: step(dynamics, t, t, s, ReverseState(y, y), y))
    assert {leaf.dtype for leaf in state} == {jnp.dtype(dtype)}


@pytest.mark.parametrize("name", ["euler-maruyama", "exponential", "multistep", "multistep-flow"])
def test_float32_follows_float64(name, getkey):
    step, _ = STEPS[name]
    dynamics = make_dynamics(key=getkey())
    y, xi = normal(N, 1, key=getkey()), normal(N, 1, key=getkey())

    @jax.jit
    def run(x, y, xi, before, t, s):
        moved = eqx.tree_at(lambda f: f.x, dynamics, x)
        return step(moved, before, t, s, ReverseState(y, 0.9 * y), xi).y

    for interval in ((1.0, 1.0, 0.8), (1.0, 0.8, 0.6), (2e-3, 1e-3, EPS), (0.5, 0.4, 0.399)):
        exact = dynamics.x, y, xi, *map(jnp.asarray, interval)
        low = run(*(a.astype(jnp.float32) for a in exact))
        assert low.dtype == jnp.float32
        assert_allclose(low, run(*exact), atol=2e-4)


@pytest.mark.parametrize("eta", [-0.1, 1.1, float("nan")])
def test_refusals(eta):
    with pytest.raises(ValueError, match=f"expected 0 <= eta <= 1, got {eta}"):
        Exponential(eta)


def test_evaluations():
    expected = (1, 1, 1, 1, 1, 1, 2, 4)
    assert tuple(step.evaluations for step, _ in STEPS.values()) == expected
