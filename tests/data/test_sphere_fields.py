"""Problems of fields on the sphere: points, and variances of their processes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.data import SPHERE_FIELDS, covariance, fibonacci, sphere_problem


def test_fibonacci_points_are_nearly_equidistant():
    x = fibonacci(600)
    assert_allclose(np.linalg.norm(x, axis=1), 1.0, rtol=1e-14)
    nearest = np.sort(np.linalg.norm(x[:, None] - x[None], axis=-1), axis=1)[:, 1]
    assert nearest.max() < 1.5 * nearest.min()
    assert_allclose(x.mean(axis=0), 0.0, atol=1e-3)


@pytest.mark.parametrize("name", SPHERE_FIELDS)
def test_unit_variance_and_noise(name):
    problem = sphere_problem(name, points=5)
    assert problem.codomain.size == problem.gp.dim == (1 if name == "scalar" else 2)
    assert_allclose(np.diag(covariance(problem.gp, problem.grid)), problem.variance)


def test_unknown_problem():
    with pytest.raises(ValueError, match="expected name to be one of 'curl-free'"):
        sphere_problem("se")
