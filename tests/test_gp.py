"""Gaussian processes against dense formulas, and against themselves."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose

from geomndp.gp import GP
from geomndp.kernels import CurlFree, Diagonal, Matern52, White

from .cases import GRAMS, KERNELS, KINDS, N, compilations, inputs, normal

M = N  # observed points
MASK = jnp.asarray([1.0, 0.0, 1.0, 0.0, 1.0])
KEPT = np.flatnonzero(MASK)


def mean(x):
    return 0.5 - x**2


@pytest.fixture(params=GRAMS)
def kernel(request):
    return KERNELS[request.param].kernel


def process(kernel, noise=0.05):
    return GP(kernel, mean if kernel.dim == 2 else lambda x: mean(x)[:, :1], noise)


def draw(kernel, *, key, dtype=jnp.float64):
    """Inputs and outputs, M observed ones first, with one input twice on each side."""
    x_key, y_key = jr.split(key)
    x = inputs(M + N, key=x_key, dtype=dtype)
    x = x.at[M - 1].set(x[0]).at[-1].set(x[0])
    return x, normal(M + N, kernel.dim, key=y_key, dtype=dtype)


def flat(rows, p):
    return (np.asarray(rows, dtype=int)[:, None] * p + np.arange(p)).reshape(-1)


def by_hand(gp, x, y, extra, seen=range(M), new=range(M, M + N)):
    """Posterior mean and covariance of some rows, given others with more noise."""
    m, k = np.asarray(gp.mean_at(x)).reshape(-1), np.asarray(gp.gram(x).dense())
    seen, new = flat(seen, gp.dim), flat(new, gp.dim)
    noise = np.repeat(np.broadcast_to(extra, len(seen) // gp.dim), gp.dim)
    gain = k[np.ix_(new, seen)] @ np.linalg.inv(k[np.ix_(seen, seen)] + np.diag(noise))
    residual = np.asarray(y).reshape(-1)[seen] - m[seen]
    return m[new] + gain @ residual, k[np.ix_(new, new)] - gain @ k[np.ix_(seen, new)]


def agree(law, x, expected, tolerance=1e-7):
    mean, covariance = law.mean_and_covariance(x)
    assert_allclose(mean.reshape(-1), expected[0], rtol=tolerance, atol=tolerance)
    assert_allclose(covariance, expected[1], rtol=tolerance, atol=tolerance)


def test_log_prob_is_the_normal_density(kernel, getkey):
    x, y = draw(kernel, key=getkey())
    gp = process(kernel)
    covariance = kernel.gram(x).dense() + 0.05 * np.eye(y.size)
    law = scipy.stats.multivariate_normal(gp.mean_at(x).reshape(-1), covariance)
    assert_allclose(gp.log_prob(x, y), law.logpdf(y.reshape(-1)), rtol=1e-7)
    found = gp.mean_and_covariance(x)
    assert_allclose(found[0], gp.mean_at(x))
    assert_allclose(found[1], covariance, rtol=1e-12)


def test_chain_rule(kernel, getkey):
    x, y = draw(kernel, key=getkey())
    gp = process(kernel)
    posterior = gp.condition(x[:M], y[:M])
    rest = gp.log_prob(x, y) - gp.log_prob(x[:M], y[:M])
    assert_allclose(posterior.log_prob(x[M:], y[M:]), rest, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("noise", [0.0, 0.2, (0.1, 0.0, 0.5, 0.2, 0.3)], ids=str)
def test_condition_by_hand(kernel, noise, getkey):
    x, y = draw(kernel, key=getkey())
    gp = process(kernel)
    noise = jnp.asarray(noise) if isinstance(noise, tuple) else noise
    posterior = gp.condition(x[:M], y[:M], noise)
    agree(posterior, x[M:], by_hand(gp, x, y, noise))
    assert posterior.dim == kernel.dim


@pytest.mark.parametrize("name", KINDS)
def test_masked_rows_do_not_count(name, getkey):
    kernel = KERNELS[name].kernel
    x, y = draw(kernel, key=getkey())
    gp = process(kernel)
    bad = jnp.concatenate([MASK, MASK])[:, None] == 0
    wrong_x, wrong_y = jnp.where(bad, jnp.nan, x), jnp.where(bad, jnp.inf, y)
    posterior = gp.condition(wrong_x[:M], wrong_y[:M], 0.1, MASK)
    agree(posterior, x[M:], by_hand(gp, x, y, 0.1, seen=KEPT))
    m, k = by_hand(gp, x, y, 0.1, seen=[], new=KEPT)
    law = scipy.stats.multivariate_normal(m, k)
    expected = law.logpdf(np.asarray(y)[KEPT].reshape(-1))
    assert_allclose(gp.log_prob(wrong_x[:M], wrong_y[:M], MASK), expected, rtol=1e-7)
    law = scipy.stats.multivariate_normal(*by_hand(gp, x, y, 0.1, seen=KEPT, new=M + KEPT))
    expected = law.logpdf(np.asarray(y)[M + KEPT].reshape(-1))
    assert_allclose(posterior.log_prob(wrong_x[M:], wrong_y[M:], MASK), expected, rtol=1e-7)


def test_gradients_do_not_see_masked_rows(getkey):
    kernel = KERNELS["curl-free"].kernel
    x, y = draw(kernel, key=getkey())
    bad = jnp.concatenate([MASK, MASK])[:, None] == 0
    gp = process(kernel)

    @jax.jit
    @jax.grad
    def slope(x, y):
        posterior = gp.condition(x[:M], y[:M], 0.1, MASK)
        return gp.log_prob(x[:M], y[:M], MASK) + posterior.log_prob(x[M:], y[M:], MASK)

    found = slope(jnp.where(bad, jnp.nan, x), jnp.where(bad, jnp.nan, y))
    assert_allclose(found, slope(x, y), rtol=1e-8, atol=1e-10)
    assert jnp.all(jnp.where(bad, found, 0.0) == 0)


@pytest.mark.parametrize("name", ["white", "se", "curl-free"])
def test_conditioning_twice_is_conditioning_once(name, getkey):
    kernel = KERNELS[name].kernel
    x, y = draw(kernel, key=getkey())
    gp, noise = process(kernel), jnp.repeat(jnp.asarray([0.1, 0.3]), M)
    new, ones = inputs(N, key=getkey()), jnp.ones(M)
    mean, covariance = gp.condition(x, y, noise).mean_and_covariance(new)
    expected = mean.reshape(-1), covariance
    first = gp.condition(x[:M], y[:M], 0.1)
    agree(first.condition(x[M:], y[M:], 0.3), new, expected)
    first = gp.condition(x[:M], y[:M], 0.1, ones)
    agree(first.condition(x[M:], y[M:], 0.3), new, expected)
    first = gp.condition(x[:M], y[:M], 0.1, MASK)
    seen = [*KEPT, *range(M, M + N)]
    x, y = jnp.concatenate([x, new]), jnp.concatenate([y, y[:N]])
    extra = noise[np.asarray(seen)]
    expected = by_hand(gp, x, y, extra, seen=seen, new=range(M + N, M + 2 * N))
    agree(first.condition(x[M : M + N], y[M : M + N], 0.3, ones), new, expected)


@pytest.mark.parametrize("name", KINDS)
def test_no_observations_change_nothing(name, getkey):
    kernel = KERNELS[name].kernel
    x, y = draw(kernel, key=getkey())
    gp = process(kernel)
    posterior = gp.condition(x[:0], y[:0])
    assert_allclose(posterior.log_prob(x, y), gp.log_prob(x, y), rtol=1e-12)
    key = getkey()
    assert_allclose(posterior.sample(x, key=key), gp.sample(x, key=key), rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("se", jnp.float64),
        ("curl-free", jnp.float64),
        ("se", jnp.float32),
    ],
)
def test_repeated_inputs_without_noise(name, dtype, getkey):
    kernel = KERNELS[name].kernel
    x = inputs(M, key=getkey(), dtype=dtype)
    y = GP(kernel).sample(x, key=getkey())
    x, y = x.at[3:].set(x[:2]), y.at[3:].set(y[:2])
    posterior = GP(kernel).condition(x, y)
    mean, covariance = posterior.mean_and_covariance(x)
    tolerance = 1e-5 if dtype == jnp.float64 else 2e-3
    assert_allclose(mean, y, atol=tolerance)
    assert_allclose(covariance, 0.0, atol=tolerance)
    # At the observed locations nothing is left but rounding, which must not break a factorisation.
    for where in (x, inputs(N, key=getkey(), dtype=dtype)):
        sample = posterior.sample(where, key=getkey())
        assert sample.dtype == dtype
        assert jnp.all(jnp.isfinite(sample))
        assert jnp.isfinite(posterior.log_prob(where, sample))


@pytest.mark.parametrize("name", ["diagonal", "field-nugget"])
def test_sample_moments(name):
    kernel, size = KERNELS[name].kernel, 2**14
    x, y = draw(kernel, key=jr.key(1))
    for law in (process(kernel), process(kernel).condition(x[:M], y[:M], 0.1)):
        samples = law.sample(x[M:], key=jr.key(2), num_samples=size).reshape(size, -1)
        mean, covariance = law.mean_and_covariance(x[M:])
        white = np.linalg.solve(np.linalg.cholesky(covariance), (samples - mean.reshape(1, -1)).T)
        assert np.abs(white.mean(axis=1)).max() * size**0.5 < 4.5
        square = white @ white.T / size - np.eye(len(white))
        spread = np.where(np.eye(len(white)) > 0, 2**0.5, 1.0) / size**0.5
        assert np.abs(square / spread).max() < 4.5


def test_sample_shapes(getkey):
    gp, x, key = process(CurlFree()), inputs(N, key=getkey()), getkey()
    assert gp.sample(x, key=key).shape == (N, 2)
    assert gp.sample(x, key=key, num_samples=1).shape == (1, N, 2)
    assert gp.sample(x, key=key, num_samples=0).shape == (0, N, 2)
    assert gp.sample(x[:0], key=key).shape == (0, 2)
    assert_allclose(gp.sample(x, key=key), gp.sample(x, key=key, num_samples=1)[0])


@pytest.mark.parametrize("name", ["se", "curl-free"])
def test_float32_is_near_float64(name, getkey):
    kernel = KERNELS[name].kernel
    x, y = draw(kernel, key=getkey())
    gp = process(kernel)
    low_x, low_y = x.astype(jnp.float32), y.astype(jnp.float32)
    exact, low = (
        gp.condition(a[:M], b[:M], 0.1).log_prob(a[M:], b[M:]) for a, b in ((x, y), (low_x, low_y))
    )
    assert low.dtype == jnp.float32
    assert_allclose(low, exact, rtol=1e-3)


def test_one_compilation_per_shape(getkey):
    gp = GP(Diagonal(Matern52() + 0.1 * White(), 2))
    gp = gp.condition(inputs(M, key=getkey()), normal(M, 2, key=getkey()))

    def call():
        x, y = inputs(N, key=getkey()), normal(N, 2, key=getkey())
        return gp.sample(x, key=getkey(), num_samples=2), gp.log_prob(x, y)

    call()
    assert compilations(call) == 0
    traces = []

    @eqx.filter_jit
    def compiled(gp, x, y, key):
        traces.append(1)
        return gp.sample(x, key=key), gp.log_prob(x, y)

    for _ in range(3):
        compiled(gp, inputs(N, key=getkey()), normal(N, 2, key=getkey()), getkey())
    assert len(traces) == 1
