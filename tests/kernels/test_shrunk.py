"""A sample covariance shrunk towards a kernel; tables of values as functions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose

from geomndp.gp import GP
from geomndp.kernels import (
    Bias,
    Coregionalised,
    Diagonal,
    KernelRegression,
    Matern32,
    ShrunkCovariance,
    SquaredExponential as SE,
    White,
)

from ..cases import N, inputs, normal, quick

B = ((1.3, 0.5), (0.5, 0.8))
WEIGHT = 0.3
CASES = {
    "one": (SE(0.6), (0.05,)),
    "two": (Coregionalised(Matern32(0.6), B), (0.05, 0.2)),
    "white": (Coregionalised(SE(0.6), B) + Coregionalised(White(0.1), B), (0.05, 0.0)),
}


@quick
def dense(law, x):
    """Covariance matrix, of a kernel or a process."""
    return law.gram(x).dense()


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


def test_an_input_that_does_not_vary_is_on_the_table_in_float32_too():
    """A covariate of 0.1 at all points, which float32 rounds by 1e-9."""
    x = np.stack([np.linspace(0.0, 1.0, 4), np.full(4, 0.1)], axis=1)
    kernel = ShrunkCovariance.fit(SE(0.6), x, np.diag([1.0, 2.0, 3.0, 4.0]), WEIGHT, 0.05)
    rounded = jnp.asarray(x.astype(np.float32), jnp.float64)
    assert_allclose(dense(kernel, rounded), dense(kernel, jnp.asarray(x)), rtol=1e-6)


def table(case, key):
    """Inputs, a sample covariance there of less than full rank, and the process."""
    kernel, noise = case
    x_key, y_key = jax.random.split(key)
    x, samples = inputs(N, key=x_key), normal(3, N * kernel.dim, key=y_key)
    sample = np.asarray(samples.T @ samples) / 3
    shrunk = ShrunkCovariance.fit(kernel, x, sample, WEIGHT, noise)
    return x, sample, GP(shrunk, noise=tuple(WEIGHT * s for s in noise))


def test_on_the_table_it_is_the_shrunk_covariance(case, getkey):
    (kernel, noise), (x, sample, gp) = case, table(case, getkey())
    full = dense(kernel, x) + np.diag(np.tile(noise, N))
    assert_allclose(dense(gp, x), (1 - WEIGHT) * sample + WEIGHT * full, rtol=1e-9)
    order = jnp.asarray([3, 0, 4])
    rows = np.arange(N * kernel.dim).reshape(N, -1)[order].reshape(-1)
    expected = dense(gp, x)[np.ix_(rows, rows)]
    nearly = x[order] * (1 + 1e-8)
    # Moved by 1e-8 of x, entries near zero move as much as the others.
    assert_allclose(dense(gp, nearly), expected, rtol=1e-6, atol=1e-7)


def test_far_away_it_is_the_kernel(case, getkey):
    (kernel, noise), (x, _, gp) = case, table(case, getkey())
    far = x + 100.0
    expected = dense(kernel, far) + np.diag(np.tile(noise, N))
    assert_allclose(dense(gp, far), expected, rtol=1e-9)
    assert_allclose(gp.kernel.cross(far, x), 0.0, atol=1e-12)


def test_positive_on_and_off_the_table_with_repeated_inputs(case, getkey):
    x, _, gp = table(case, getkey())
    near = x + 0.05 * normal(N, 2, key=getkey())
    points = jnp.concatenate([x, x, near, near, x + 100.0])
    gram = np.asarray(dense(gp.kernel, points))
    assert_allclose(gram, gram.T, atol=1e-12)
    assert np.linalg.eigvalsh(gram).min() > -1e-9
    assert_allclose(gp.kernel(x[0], near[1]), gp.kernel.cross(x[:1], near[1:2]), rtol=1e-12)


def test_with_the_kernel_as_sample_covariance_it_is_the_process(case, getkey):
    (kernel, noise), x = case, inputs(N, key=getkey())
    full = dense(kernel, x) + np.diag(np.tile(noise, N))
    shrunk = ShrunkCovariance.fit(kernel, x, full, WEIGHT, noise)
    gp = GP(shrunk, noise=tuple(WEIGHT * s for s in noise))
    points = jnp.concatenate([x[:3], inputs(N, key=getkey())])
    exact = GP(kernel, noise=noise)
    assert_allclose(dense(gp, points), dense(exact, points), rtol=1e-6, atol=1e-7)


def test_regression_of_a_table_is_the_posterior_mean(getkey):
    x, new, y = inputs(N, key=getkey()), inputs(N, key=getkey()), normal(N, 2, key=getkey())
    noise = jnp.abs(normal(N, 1, key=getkey())[:, 0])
    exact = KernelRegression.fit(SE(0.6), x, y)
    assert_allclose(exact(x), y, atol=1e-6)
    assert_allclose(exact(new + 100.0), np.tile(exact.trend[:1], (N, 1)), rtol=1e-9)
    # A flat prior on the trend is the limit of a wide one.
    wide = GP(Diagonal(SE(0.6) + Bias(1e6), 2)).condition(x, y, noise)
    found = KernelRegression.fit(SE(0.6), x, y, noise)
    assert_allclose(found(new), wide.mean_at(new), rtol=1e-4, atol=1e-4)
    assert found(new.astype(jnp.float32)).dtype == jnp.float32


def test_a_linear_trend_is_kept(getkey):
    x, new = inputs(2 * N, key=getkey()), 10 + inputs(N, key=getkey())

    def plane(x):
        return 1.0 - 2.0 * x[:, :1] + 0.5 * x[:, 1:]

    found = KernelRegression.fit(Matern32(0.5), x, plane(x), 0.1, linear=True)
    assert_allclose(found(new), plane(new), rtol=1e-8)


def test_samples_have_the_table_s_covariance(getkey):
    x, _, gp = table(CASES["one"], getkey())
    draws = np.asarray(gp.sample(x, key=jax.random.key(1), num_samples=4000))[:, :, 0]
    expected = np.asarray(dense(gp, x))
    error = np.abs(np.cov(draws.T) - expected) / np.sqrt(
        np.outer(np.diag(expected), np.diag(expected))
    )
    assert error.max() < 5 * np.sqrt(2 / 4000)
    law = scipy.stats.multivariate_normal(np.zeros(N), expected)
    assert_allclose(gp.log_prob(x, jnp.asarray(draws[0][:, None])), law.logpdf(draws[0]), rtol=1e-5)


def test_wrong_arguments(getkey):
    x = np.asarray(inputs(N, key=getkey()))
    with pytest.raises(ValueError, match="expected covariance of shape"):
        ShrunkCovariance.fit(SE(), x, np.eye(N + 1), 0.5, 0.1)
    with pytest.raises(ValueError, match="expected 0 <= weight <= 1"):
        ShrunkCovariance.fit(SE(), x, np.eye(N), 1.5, 0.1)
    with pytest.raises(ValueError, match="expected finite y"):
        KernelRegression.fit(SE(), x, np.full((N, 1), np.nan))
