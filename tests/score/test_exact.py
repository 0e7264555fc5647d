"""Exact scores against the gradient of the density, and against conditioned processes."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
import scipy.stats
from numpy.testing import assert_allclose

from geomndp.gp import GP
from geomndp.kernels import CurlFree, Diagonal, SquaredExponential, White
from geomndp.noising import OrnsteinUhlenbeck
from geomndp.score import GaussianScore, MixtureScore

from ..cases import (
    DATA,
    GRAMS,
    KERNELS,
    LIMITS,
    SCHEDULES,
    SCORES,
    N,
    compilations,
    inputs,
    largest,
    normal,
    ou,
    random,
    unchecked,
)

__all__ = ["unchecked"]

MASK = jnp.asarray([1.0, 0.0, 1.0, 1.0, 0.0])
KEPT = np.flatnonzero(MASK)


def times(*, key, zero=True):
    """One time per point, a zero among them."""
    t = random(key).uniform(1e-3, 1.0, N)
    t[1] = 0.0 if zero else t[1]
    return jnp.asarray(t)


@eqx.filter_jit
def u_and_gradient(score, noising, t, x, y):
    gradient = jax.grad(lambda y: score.log_prob(noising, t, x, y))(y)
    sigma = jnp.broadcast_to(noising.sigma(t), (len(x),))[:, None]
    return score(noising, t, x, y), noising.gram(x).mv(sigma * gradient)


def check_gradient(score, noising, dim, getkey):
    x, y = inputs(N, key=getkey()), normal(N, dim, key=getkey())
    u, expected = u_and_gradient(score, noising, times(key=getkey()), x, y)
    assert_allclose(u, expected, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("limit", ["white", "nugget"])
@pytest.mark.parametrize("name", SCORES)
def test_u_is_the_gradient(name, limit, getkey):
    check_gradient(SCORES[name], ou(limit), 1, getkey)


@pytest.mark.parametrize("name", GRAMS)
def test_u_is_the_gradient_for_every_kernel(name, getkey):
    kernel = KERNELS[name].kernel
    limit = White(1.3) if kernel.dim == 1 else CurlFree(0.7) + 0.1 * Diagonal(White(), 2)
    noising = OrnsteinUhlenbeck(limit, SCHEDULES["linear"])
    check_gradient(GaussianScore(GP(kernel, noise=0.01)), noising, kernel.dim, getkey)


def test_a_scalar_time_stands_for_all(getkey):
    score, noising = SCORES["mixture"], ou("nugget")
    x, y, t = inputs(N, key=getkey()), normal(N, 1, key=getkey()), jnp.asarray(0.3)
    assert_allclose(score(noising, t, x, y), score(noising, jnp.full(N, 0.3), x, y), rtol=1e-12)


@pytest.mark.parametrize("limit", LIMITS)
def test_noised_law(limit, getkey):
    noising, gp, x = ou(limit), DATA["matern-mean"], inputs(N, key=getkey())
    y, t = normal(N, 1, key=getkey()), times(key=getkey())
    a, sigma = np.asarray(noising.alpha(t)), np.asarray(noising.sigma(t))
    mean = a * gp.mean_at(x)[:, 0] + (1 - a) * noising.mean_at(x)[:, 0]
    k0, k = (np.asarray(g.gram(x).dense()) for g in (gp, noising))
    covariance = np.outer(a, a) * k0 + np.outer(sigma, sigma) * k
    expected = scipy.stats.multivariate_normal(mean, covariance).logpdf(y[:, 0])
    assert_allclose(GaussianScore(gp).log_prob(noising, t, x, y), expected, rtol=1e-7)
    found = GaussianScore(gp).law(noising, t, x)
    assert_allclose(found[0][:, 0], mean, rtol=1e-10)
    assert_allclose(found[1].dense(), covariance, rtol=1e-10)


def test_without_noise_there_is_none_to_estimate(getkey):
    x, y = inputs(N, key=getkey()), normal(N, 1, key=getkey())
    for score in SCORES.values():
        assert_allclose(score(ou("nugget"), jnp.asarray(0.0), x, y), 0.0)


def test_responsibilities(getkey):
    score, noising = SCORES["mixture"], ou("nugget")
    x, y, t = inputs(N, key=getkey()), normal(N, 1, key=getkey()), times(key=getkey())
    log_probs = [float(part.log_prob(noising, t, x, y)) for part in score.scores]
    joint = np.asarray(log_probs) + np.log([0.3, 0.7])
    found = score.responsibilities(noising, t, x, y)
    assert_allclose(found, scipy.special.softmax(joint), rtol=1e-10)
    log_prob = score.log_prob(noising, t, x, y)
    assert_allclose(log_prob, scipy.special.logsumexp(joint), rtol=1e-10)
    parts = [w * part(noising, t, x, y) for w, part in zip(found, score.scores, strict=True)]
    assert_allclose(score(noising, t, x, y), sum(parts), rtol=1e-10)


def test_mixture_of_one_and_of_copies(getkey):
    gp, noising = DATA["se"], ou("nugget")
    x, y, t = inputs(N, key=getkey()), normal(N, 1, key=getkey()), times(key=getkey())
    expected = GaussianScore(gp)
    for mixture in (MixtureScore([gp]), MixtureScore([gp, gp], [0.2, 0.8])):
        assert_allclose(mixture(noising, t, x, y), expected(noising, t, x, y), rtol=1e-10)
        found = mixture.log_prob(noising, t, x, y)
        assert_allclose(found, expected.log_prob(noising, t, x, y), rtol=1e-10)


def test_mixture_far_from_the_data(getkey):
    # Densities underflow, their ratios do not.
    x, y = inputs(N, key=getkey(), dtype=jnp.float32), jnp.full((N, 1), 1e3, dtype=jnp.float32)
    u = SCORES["mixture"](ou(), jnp.asarray(0.01, dtype=jnp.float32), x, y)
    assert jnp.all(jnp.isfinite(u))


@pytest.mark.parametrize("name", ["white", "mixture"])
def test_masked_rows_do_not_count(name, getkey):
    score, noising = SCORES[name], ou("nugget")
    x, y, t = inputs(N, key=getkey()), normal(N, 1, key=getkey()), times(key=getkey())
    bad = MASK[:, None] == 0
    wrong_x, wrong_y = jnp.where(bad, jnp.nan, x), jnp.where(bad, jnp.inf, y)
    u = score(noising, t, wrong_x, wrong_y, MASK)
    assert jnp.all(u[MASK == 0] == 0)
    assert_allclose(u[KEPT], score(noising, t[KEPT], x[KEPT], y[KEPT]), rtol=1e-7, atol=1e-8)
    expected = score.log_prob(noising, t[KEPT], x[KEPT], y[KEPT])
    assert_allclose(score.log_prob(noising, t, wrong_x, wrong_y, MASK), expected, rtol=1e-7)


def test_gradients_do_not_see_masked_rows(getkey):
    score, noising, bad = SCORES["mixture"], ou("nugget"), MASK[:, None] == 0
    x, y = inputs(N, key=getkey()), normal(N, 1, key=getkey())
    t = times(key=getkey(), zero=False)

    @jax.jit
    @jax.grad
    def slope(x, y):
        u = score(noising, t, x, y, MASK)
        return jnp.sum(u**2) + score.log_prob(noising, t, x, y, MASK)

    found = slope(jnp.where(bad, jnp.nan, x), jnp.where(bad, jnp.nan, y))
    assert_allclose(found, slope(x, y), rtol=1e-8, atol=1e-10)


def test_repeated_inputs_and_one_point(getkey):
    score, noising = SCORES["mixture"], ou("nugget")
    x, t = inputs(N, key=getkey()), times(key=getkey())
    y = normal(N, 1, key=getkey())
    assert jnp.all(jnp.isfinite(score(noising, t, x.at[1:].set(x[:1]), y)))
    assert score(noising, t[:1], x[:1], y[:1]).shape == (1, 1)


@pytest.mark.parametrize("limit", ["white", "nugget"])
def test_float32_is_near_float64(limit, getkey):
    score, noising = SCORES["mixture"], ou(limit)
    x, y = inputs(N, key=getkey()), normal(N, 1, key=getkey())
    for t in (1e-3, 0.03, 1.0):
        u = score(noising, jnp.asarray(t), x, y)
        low = (a.astype(jnp.float32) for a in (jnp.asarray(t), x, y))
        low = score(noising, *low)
        assert low.dtype == jnp.float32
        assert_allclose(low, u, rtol=5e-4, atol=5e-4)


@pytest.mark.parametrize("name", SCORES)
def test_one_compilation_per_shape(name, dtype=jnp.float32):
    score, noising = SCORES[name], ou("nugget")
    compiled = eqx.filter_jit(score)
    rng = np.random.default_rng(0)

    def call():
        t, x, y = (jnp.asarray(rng.uniform(size=shape), dtype) for shape in ((N,), (N, 2), (N, 1)))
        return compiled(noising, t, x, y)

    assert call().dtype == dtype
    assert compilations(call) == 0


def test_white_noise_at_any_size(getkey):
    n = 100_000
    score, noising = GaussianScore(DATA["white"]), ou("white")
    x, y, t = inputs(n, key=getkey()), normal(n, 1, key=getkey()), jnp.full(n, 0.3)
    assert largest(lambda t, x, y: score(noising, t, x, y), t, x, y) <= 2 * n
    assert score(noising, t, x, y).shape == (n, 1)


def test_refusals(unchecked):
    gp, x, y, t = DATA["se"], jnp.zeros((4, 2)), jnp.zeros((4, 1)), jnp.asarray(0.3)
    with pytest.raises(ValueError, match=r"expected 2 positive weights .* got \(0.5,\)"):
        MixtureScore([gp, gp], [0.5])
    with pytest.raises(ValueError, match=r"expected 2 positive weights .* got \(0.5, 0.6\)"):
        MixtureScore([gp, gp], [0.5, 0.6])
    with pytest.raises(ValueError, match=r"expected 2 positive weights .* got \(1.5, -0.5\)"):
        MixtureScore([gp, gp], [1.5, -0.5])
    with pytest.raises(ValueError, match="expected at least one process"):
        MixtureScore([])
    for score in SCORES.values():
        for method in (score, score.log_prob):
            with pytest.raises(ValueError, match=r"expected y of shape \(4, 1\), got .*\(4, 2\)"):
                method(ou(), t, x, x)
            with pytest.raises(ValueError, match=r"expected x of shape \(n, d\), got .*\(4,\)"):
                method(ou(), t, x[:, 0], y)
            with pytest.raises(ValueError, match=r"expected t of shape \(\) or \(4,\), got .*3"):
                method(ou(), jnp.zeros(3), x, y)
            with pytest.raises(ValueError, match=r"expected mask of shape \(4,\), got .*\(3,\)"):
                method(ou(), t, x, y, jnp.ones(3))
    noising = OrnsteinUhlenbeck(Diagonal(White(), 2), SCHEDULES["linear"])
    with pytest.raises(ValueError, match="got 2 for the noising and 1 for the data"):
        GaussianScore(GP(SquaredExponential()))(noising, t, x, y)
