"""Correlation ranges of kernels and of samples, and the error of the schemes that follow."""

import numpy as np
import pytest

import geomndp as gn
from geomndp.patches import default_patches, grid, kernel_range, plan, sample_range, scheme_kl

SE_RANGE = np.sqrt(2 * np.log(10))  # exp(-r^2 / 2) = 0.1


@pytest.mark.parametrize("lengthscale", [0.3, 2.0])
def test_range_of_a_squared_exponential(lengthscale):
    kernel = gn.kernels.SquaredExponential(lengthscale)
    ranges = kernel_range(kernel, np.zeros(2), np.asarray([20.0, 10.0]))
    np.testing.assert_allclose(ranges, lengthscale * SE_RANGE, rtol=0.02)


def test_range_of_samples_is_about_that_of_their_kernel():
    x = np.random.default_rng(0).uniform(0, 10, (200, 2))
    square = np.sum((x[:, None] - x[None]) ** 2, axis=-1)
    root = np.linalg.cholesky(np.exp(-square / 2) + 1e-6 * np.eye(200))
    y = np.random.default_rng(1).normal(size=(64, 200)) @ root.T
    np.testing.assert_allclose(sample_range(x, y[:, :, None]), SE_RANGE, rtol=0.25)


def test_values_without_correlation_have_a_range_near_zero():
    x = np.random.default_rng(0).uniform(0, 10, (200, 2))
    y = np.random.default_rng(1).normal(size=(64, 200, 1))
    assert sample_range(x, y).max() < 0.5


@pytest.mark.parametrize(
    "name", ["SquaredExponential", pytest.param("Matern32", marks=pytest.mark.slow)]
)
def test_the_default_scheme_loses_less_than_a_thousandth_of_a_nat_per_point(name):
    kernel = getattr(gn.kernels, name)(1.0)
    axis = 0.4 * np.arange(45)
    ranges = kernel_range(kernel, np.zeros(2), np.full(2, axis[-1]))
    layout = plan(grid((axis, axis)), default_patches(ranges))
    assert len(layout.patches) == 9
    result = scheme_kl(kernel, layout, noise=0.02)
    assert 0 <= result.per_point < 1e-3


def test_a_network_is_asked_for_no_more_points_than_it_knows():
    scheme = default_patches(np.asarray([1.0]), num_points=60)
    assert (scheme.max_points, scheme.max_context) == (120, 240)
