"""Ornstein-Uhlenbeck noising: marginals, moments, the equation that they solve."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose

from geomndp.gp import GP
from geomndp.kernels import CurlFree, DivergenceFree, White
from geomndp.noising import OrnsteinUhlenbeck, per_point

from ..cases import (
    DTYPES,
    KERNELS,
    KINDS,
    SCHEDULES,
    N,
    inputs,
    largest,
    matrix_of,
    normal,
    rotation,
)

MASK = jnp.asarray([1.0, 0.0, 1.0, 1.0, 0.0])


def noising_of(kernel, schedule="linear"):
    return OrnsteinUhlenbeck(kernel, SCHEDULES[schedule], lambda x: 0.3 * x[:, : kernel.dim])


@pytest.fixture(params=SCHEDULES)
def schedule(request):
    return request.param


@pytest.fixture(params=KINDS)
def kernel(request):
    return KERNELS[request.param].kernel


def test_variance_is_preserved(schedule):
    noising, t = noising_of(White(), schedule), jnp.linspace(0.0, 1.0, 11)
    assert_allclose(noising.alpha(t) ** 2 + noising.sigma(t) ** 2, 1.0, rtol=1e-12)
    assert noising.alpha(t)[0] == 1
    assert noising.sigma(t)[0] == 0


def test_small_times_in_float32(schedule):
    noising, t = noising_of(White(), schedule), jnp.asarray([1e-6, 1e-5, 5e-4, 1e-2])
    low, exact = noising.sigma(t.astype(jnp.float32)), noising.sigma(t)
    assert low.dtype == jnp.float32
    assert_allclose(low, exact, rtol=1e-6)
    assert_allclose(exact**2, -np.expm1(-np.asarray(noising.schedule.integral(t))), rtol=1e-12)
    assert jnp.all(jnp.isfinite(jax.vmap(jax.grad(noising.sigma))(jnp.asarray([0.0, 1e-6, 1.0]))))


@pytest.mark.parametrize("times", ["equal", "per point"])
def test_marginals_compose(kernel, times, getkey):
    # Noise to s, then on to t: mean and covariance of Y_t from those of Y_s.
    noising = noising_of(kernel)
    x, y = inputs(N, key=getkey()), normal(N, kernel.dim, key=getkey())
    s = jnp.asarray(0.3) if times == "equal" else jr.uniform(getkey(), (N,), dtype=jnp.float64)
    later = s + 0.4
    mean_s, gram_s = noising.marginal(s, x, y)
    mean_t, gram_t = noising.marginal(later, x, y)
    b_s, b_t = (noising.schedule.integral(per_point(w, N)) for w in (s, later))
    decay, m = jnp.exp(0.5 * (b_s - b_t)), noising.mean_at(x)
    assert_allclose(mean_t, m + decay[:, None] * (mean_s - m), rtol=1e-10, atol=1e-12)
    if times == "equal":
        fresh = noising.gram(x).scale(jnp.sqrt(-jnp.expm1(b_s - b_t)))
        assert_allclose(gram_t.dense(), (gram_s.scale(decay) + fresh).dense(), atol=1e-12)


@pytest.mark.parametrize(
    ("name", "schedule"),
    [("white", "linear-high"), ("se", "linear"), ("curl-free", "cosine"), ("nugget", "linear-low")],
)
def test_marginals_solve_the_equation(name, schedule, getkey):
    # d mean / dt is the drift at the mean; d cov / dt = -beta cov + (diffusion)(diffusion)^T.
    kernel = KERNELS[name].kernel
    noising, t = noising_of(kernel, schedule), jnp.asarray(0.4)
    x, y = inputs(N, key=getkey()), normal(N, kernel.dim, key=getkey())

    def moments(t):
        mean, gram = noising.marginal(t, x, y)
        return mean, gram.dense()

    @jax.jit
    def rates(t):
        (mean, covariance), found = jax.jvp(moments, (t,), (jnp.ones(()),))
        root = matrix_of(lambda v: noising.diffusion(t, x, v), N, kernel.dim)
        expected = root @ root.T - noising.schedule.beta(t) * covariance
        return found, (noising.drift(t, x, mean), expected)

    for found, expected in zip(*rates(t), strict=True):
        assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


def test_perturb_is_what_it_says(kernel, getkey):
    noising, key = noising_of(kernel), getkey()
    x, y0 = inputs(N, key=getkey()), normal(N, kernel.dim, key=getkey())
    t = jr.uniform(getkey(), (N,), dtype=jnp.float64).at[0].set(0.0)
    y, xi, z = noising.perturb(t, x, y0, key=key)
    mean, gram = noising.marginal(t, x, y0)
    assert_allclose(xi, noising.gram(x).root_mv(z), rtol=1e-12)
    assert_allclose(y, mean + noising.sigma(t)[:, None] * xi, rtol=1e-12)
    assert_allclose(y[0], y0[0], rtol=1e-12)
    assert_allclose(gram.dense(), noising.gram(x).scale(noising.sigma(t)).dense())
    again = noising.perturb(t, x, y0, key=key)
    assert jnp.array_equal(y, again.y)


def test_perturb_moments():
    noising, size = noising_of(KERNELS["field-nugget"].kernel), 2**14
    x, y0 = inputs(3, key=jr.key(0)), normal(3, 2, key=jr.key(1))
    t = jnp.asarray([0.1, 0.9, 0.5])
    keys = jr.split(jr.key(2), size)
    draws = jax.jit(jax.vmap(lambda key: noising.perturb(t, x, y0, key=key).y))(keys)
    mean, gram = noising.marginal(t, x, y0)
    centred = (draws - mean[None]).reshape(size, -1)
    white = np.linalg.solve(np.linalg.cholesky(gram.dense()), centred.T)
    assert np.abs(white.mean(axis=1)).max() * size**0.5 < 4.5
    square = white @ white.T / size - np.eye(6)
    assert np.abs(square * size**0.5 / np.where(np.eye(6) > 0, 2**0.5, 1)).max() < 4.5


@pytest.mark.parametrize("name", ["white", "curl-free"])
def test_masked_rows_may_hold_anything(name, getkey):
    kernel = KERNELS[name].kernel
    noising, key = noising_of(kernel), getkey()
    x, y0 = inputs(N, key=getkey()), normal(N, kernel.dim, key=getkey())
    bad = MASK[:, None] == 0
    wrong_x, wrong_y = jnp.where(bad, jnp.nan, x), jnp.where(bad, jnp.inf, y0)
    t = jnp.asarray(0.4)
    one, two = (noising.perturb(t, *a, key=key, mask=MASK) for a in ((x, y0), (wrong_x, wrong_y)))
    for a, b in zip(one, two, strict=True):
        assert_allclose(a, b)
        assert jnp.all(a[MASK == 0] == 0)
    kept = np.flatnonzero(MASK)
    expected = noising.prior_log_prob(x[kept], y0[kept])
    assert_allclose(noising.prior_log_prob(wrong_x, wrong_y, MASK), expected, rtol=1e-7)


def test_prior_is_the_limiting_process(kernel, getkey):
    noising, key = noising_of(kernel), getkey()
    x, y = inputs(N, key=getkey()), normal(N, kernel.dim, key=getkey())
    assert_allclose(noising.prior_log_prob(x, y), GP(kernel, noising.mean).log_prob(x, y))
    z = jr.normal(key, (N, kernel.dim), dtype=x.dtype)
    expected = noising.mean_at(x) + noising.gram(x).root_mv(z)
    assert_allclose(noising.prior_sample(x, key=key), expected, rtol=1e-12)
    sample = noising.prior_sample(x, key=key, mask=MASK)
    assert sample.shape == (N, kernel.dim)


def test_prior_density_integrates_to_one():
    noising, x = noising_of(KERNELS["se"].kernel), inputs(2, key=jr.key(3))
    grid = jnp.linspace(-9.0, 9.0, 181)
    pairs = jnp.stack(jnp.meshgrid(grid, grid), axis=-1).reshape(-1, 2, 1)
    density = jax.jit(jax.vmap(lambda y: jnp.exp(noising.prior_log_prob(x, y))))(pairs)
    assert_allclose(density.sum() * 0.1**2, 1.0, rtol=1e-6)


@pytest.mark.parametrize("make", [CurlFree, DivergenceFree])
@pytest.mark.parametrize("reflect", [False, True])
def test_noised_fields_turn_with_inputs_and_noise(make, reflect, getkey):
    noising = OrnsteinUhlenbeck(make(1.2), SCHEDULES["linear"])
    x, z, t = inputs(N, key=getkey()), normal(N, 2, key=getkey()), jnp.asarray(0.4)
    turn = rotation(2, key=getkey(), reflect=reflect)

    @jax.jit
    def noise(x, z):
        return noising.diffusion(t, x, z), noising.marginal(t, x, z)[1].cholesky_mv(z)

    by_root, by_cholesky = noise(x, z)
    turned, turned_cholesky = noise(x @ turn.T, z @ turn.T)
    assert_allclose(turned, by_root @ turn.T, atol=1e-7)
    assert np.abs(turned_cholesky - by_cholesky @ turn.T).max() > 1e-3


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtype_follows(kernel, dtype):
    noising = noising_of(kernel)
    x, y = jnp.zeros((N, 2), dtype), jnp.zeros((N, kernel.dim), dtype)
    t = jnp.asarray(0.3, dtype)

    def everything(t, x, y):
        key = jr.key(0)
        moments = noising.marginal(t, x, y)
        drawn = noising.perturb(t, x, y, key=key), noising.prior_sample(x, key=key)
        motion = noising.drift(t, x, y), noising.diffusion(t, x, y)
        return moments, drawn, motion, noising.prior_log_prob(x, y)

    for leaf in jax.tree.leaves(eqx.filter_eval_shape(everything, t, x, y)):
        assert leaf.dtype == dtype


def test_white_noise_at_any_size(getkey):
    n = 100_000
    noising = OrnsteinUhlenbeck(White(1.3), SCHEDULES["linear"])
    x, y, t = inputs(n, key=getkey()), normal(n, 1, key=getkey()), jnp.full(n, 0.3)

    def everything(t, x, y, key):
        return noising.perturb(t, x, y, key=key), noising.prior_log_prob(x, y)

    assert largest(everything, t, x, y, getkey()) <= 2 * n
    log_prob = everything(t, x, y, getkey())[1]
    assert_allclose(log_prob, scipy.stats.norm(scale=1.3**0.5).logpdf(y).sum(), rtol=1e-10)


@pytest.mark.parametrize("name", ["white", "diagonal-white"])
def test_noise_becomes_a_time_relative_to_the_limiting_variance(name, schedule):
    """At that time, transition_std over decay is the noise's own standard deviation."""
    kernel, variance = KERNELS[name]
    noising, noise = noising_of(kernel, schedule), jnp.asarray([0.0, 1e-4, 0.02, 0.3])
    integrated_time = noising.integrated_time_of_noise(jnp.zeros((4, 2)), noise)
    decay = jnp.exp(noising.log_mean_coefficient(integrated_time))
    assert_allclose(
        variance * noising.transition_std(integrated_time) ** 2 / decay**2, noise, rtol=1e-9
    )


def test_the_limit_of_noising_is_its_draw_after_a_long_time(getkey):
    """The same noise xi on top of the mean, whatever the clean values were."""
    noising, x = noising_of(White()), inputs(N, key=getkey())
    y, xi = normal(2, N, 1, key=getkey())
    late = noising.transition(jnp.asarray(60.0), x, y, xi)
    assert_allclose(noising.limit_from_noise(x, xi), late, atol=1e-9)
