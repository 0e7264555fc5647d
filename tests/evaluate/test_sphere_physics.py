"""Divergence and curl of fields on the sphere, by the derivatives of kernels."""

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.data import covariance, fibonacci, sphere_problem
from geomndp.evaluate.sphere_physics import (
    exact_posterior,
    posterior_physics,
    sphere_physics,
    surface_derivatives,
)
from geomndp.geometry.geodesy import to_unit

from ..cases import quick


@pytest.fixture(scope="module")
def derivatives():
    """Derivatives of both kernels at probes (m, 3) and points (n, 3)."""
    where, points = jnp.asarray(fibonacci(4)), jnp.asarray(fibonacci(7))
    run = quick(lambda kernel: surface_derivatives(kernel, where, points))
    return {name: run(sphere_problem(name).gp.kernel) for name in ("curl-free", "div-free")}


def test_gradients_have_no_curl_and_rotations_no_divergence(derivatives):
    divergence, curl = derivatives["curl-free"]
    assert_allclose(curl, 0.0, atol=1e-12)
    assert float(jnp.max(jnp.abs(divergence))) > 0.1
    rotation_divergence, rotation_curl = derivatives["div-free"]
    assert_allclose(rotation_divergence, 0.0, atol=1e-12)
    # A rotation is a gradient turned by a quarter in both tangent planes.
    turned = np.asarray(divergence).reshape(4, 7, 2)[..., ::-1] * np.array([-1.0, 1.0])
    assert_allclose(np.asarray(rotation_curl).reshape(4, 7, 2), turned, atol=1e-12)


def test_divergence_in_coordinates(derivatives):
    """(d(v_east) / d(lon) + d(v_north cos(lat)) / d(lat)) / cos(lat) by finite differences."""
    kernel, other = sphere_problem("curl-free").gp.kernel, jnp.asarray(fibonacci(7)[2])
    x, step = fibonacci(4)[1], 1e-4
    lat, lon = np.degrees(np.arcsin(x[2])), np.degrees(np.arctan2(x[1], x[0]))
    around = [(0, 1), (0, -1), (1, 0), (-1, 0)]
    points = [to_unit(lat + step * a, lon + step * b) for a, b in around]
    east, west, north, south = (np.asarray(kernel(jnp.asarray(p), other)) for p in points)
    level = np.cos(np.radians(lat + step * np.array([1, -1])))
    slope = east[0] - west[0] + north[1] * level[0] - south[1] * level[1]
    expected = slope / (2 * np.radians(step)) / np.cos(np.radians(lat))
    found = np.asarray(derivatives["curl-free"][0]).reshape(4, 7, 2)[1, 2]
    assert_allclose(found, expected, rtol=1e-5)


def test_samples_of_the_exact_process():
    problem = sphere_problem("div-free", 0.6, points=80)
    factor = np.linalg.cholesky(covariance(problem.gp, problem.grid))
    noise = np.random.default_rng(0).normal(size=(400, 160))
    found = sphere_physics(problem, (noise @ factor.T).reshape(400, 80, 2), lengthscale=0.6)
    for name in ("divergence", "curl"):
        rms, error = found[name]["rms"]
        assert abs(rms - found[name]["exact"]) < 5 * error
    assert found["divergence"]["exact"] < 0.3 * found["curl"]["exact"]
    with pytest.raises(ValueError, match="samples"):
        sphere_physics(problem, np.zeros((2, 80, 1)), lengthscale=0.6)


def test_posterior_samples_of_the_exact_process():
    problem = sphere_problem("div-free", 0.6, points=60)
    tasks = problem.tasks(3, seed=0)
    matrix, random = covariance(problem.gp, problem.grid), np.random.default_rng(0)
    fields = []
    for y, context in zip(np.asarray(tasks.y, float), np.asarray(tasks.context), strict=True):
        mean, left = exact_posterior(matrix, y.reshape(-1), np.repeat(context > 0, 2))
        draws = random.multivariate_normal(mean, left, size=200, method="eigh")
        fields.append(draws.reshape(200, 60, 2))
        assert_allclose(fields[-1][0][context > 0], y[context > 0], atol=1e-6)
    found = posterior_physics(problem, tasks, np.stack(fields), lengthscale=0.6)
    assert found["num"] == 600 and found["tasks"] == 3
    for name in ("divergence", "curl"):
        rms, error = found[name]["rms"]
        assert abs(rms - found[name]["exact"]) < 5 * error < 0.1 * rms
    turned = np.stack(fields)[..., ::-1] * np.array([-1.0, 1.0])  # curl-free where it was div-free
    wrong = posterior_physics(problem, tasks, turned, lengthscale=0.6)["divergence"]
    assert wrong["rms"][0] > 3 * wrong["exact"]


def test_the_exact_posterior_is_that_of_the_process():
    problem, known = sphere_problem("curl-free", 0.6, points=20), np.arange(20) < 5
    y = np.random.default_rng(0).normal(size=(20, 2))
    matrix = covariance(problem.gp, problem.grid)
    mean, left = exact_posterior(matrix, y.reshape(-1), np.repeat(known, 2))
    law = problem.gp.condition(jnp.asarray(problem.grid[:5]), jnp.asarray(y[:5]))
    expected_mean, expected_std = law.mean_and_std(jnp.asarray(problem.grid[5:]))
    assert_allclose(mean.reshape(20, 2)[5:], expected_mean, atol=1e-6)
    assert_allclose(np.sqrt(np.diag(left)).reshape(20, 2)[5:], expected_std, atol=1e-6)
