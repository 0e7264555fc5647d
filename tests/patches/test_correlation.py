"""Correlation ranges of kernels and of samples, and the error of the schemes that follow."""

import numpy as np
import pytest

import geomndp as gn
from geomndp.model.patch_scheme import SPHERE_RANGES
from geomndp.patches import (
    default_patches,
    grid,
    kernel_range,
    plan,
    plan_points,
    sample_range,
    scheme_kl,
    sphere_range,
)

SE_RANGE = np.sqrt(2 * np.log(10))  # exp(-r^2 / 2) = 0.1


@pytest.mark.parametrize("lengthscale", [0.3, 2.0])
def test_range_of_a_squared_exponential(lengthscale):
    kernel = gn.kernels.SquaredExponential(lengthscale)
    ranges = kernel_range(kernel, np.zeros(2), np.asarray([20.0, 10.0]))
    np.testing.assert_allclose(ranges, lengthscale * SE_RANGE, rtol=0.02)


@pytest.mark.parametrize("lengthscale", [0.2, 0.5])
def test_ranges_on_the_sphere_are_chords(lengthscale):
    """Of f = exp(-(1 - u) / l^2), and of components along and across of its rotated gradient.

    These have the covariances f' and f' u - f'' (1 - u^2).
    """
    scalar = gn.kernels.ZonalExponential(lengthscale)
    assert sphere_range(scalar) == pytest.approx(lengthscale * SE_RANGE, rel=0.02)
    angles = np.linspace(0.001, np.pi - 0.01, 4000)
    u, rate = np.cos(angles), lengthscale**-2
    slope = rate * np.exp(-rate * (1 - u))  # f'(u), f'' = rate f'
    along, across = slope, slope * u - rate * slope * np.sin(angles) ** 2
    seen = np.maximum(np.abs(along), np.abs(across)) / rate >= 0.1
    expected = 2 * np.sin(angles[seen][-1] / 2)
    for kind in (gn.kernels.SphereDivergenceFree, gn.kernels.SphereCurlFree):
        assert sphere_range(kind(scalar)) == pytest.approx(expected, rel=0.02)


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


def lattice_of_sphere(n):
    """Points of a spiral."""
    number = np.arange(n) + 0.5
    z, angle = 1 - 2 * number / n, np.pi * (1 + 5**0.5) * number
    radius = np.sqrt(1 - z**2)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), z], axis=1)


@pytest.mark.parametrize("n", [300, pytest.param(1500, marks=pytest.mark.slow)])
def test_the_default_scheme_of_a_network_on_the_sphere_loses_little(n):
    """Trained on all of the sphere (extents of 2), for the process of the shipped models."""
    scheme = default_patches(np.full(3, 2 / SPHERE_RANGES), max(1, n // 5))
    layout = plan_points(lattice_of_sphere(n), scheme)
    assert len(layout.patches) > 3
    kernel = gn.kernels.SphereDivergenceFree(gn.kernels.ZonalExponential(0.35))
    assert 0 <= scheme_kl(kernel, layout, noise=0.02).per_point < 1e-3


def test_a_network_is_asked_for_no_more_points_than_it_knows():
    scheme = default_patches(np.asarray([1.0]), num_points=60)
    assert (scheme.max_points, scheme.max_context) == (120, 240)
