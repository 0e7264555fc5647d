"""Random point designs of the sphere."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.data.sphere_designs import (
    SPHERE_PATTERNS,
    random_rotation,
    sample_sphere_pattern,
    sphere_designs,
    uniform_cap,
)


@pytest.mark.parametrize("pattern", SPHERE_PATTERNS)
def test_points_are_unit_vectors(pattern):
    random = np.random.default_rng(0)
    x = sample_sphere_pattern(pattern, 50, 50.0, random)
    assert x.shape == (50, 3)
    assert_allclose(np.linalg.norm(x, axis=1), 1.0, rtol=1e-12)


def test_a_cap_has_its_area():
    """Uniform in area: 1 - cos of the angle from the centre is uniform up to twice the share."""
    random = np.random.default_rng(1)
    x = uniform_cap(4000, 0.1, random)
    centre = x.mean(axis=0) / np.linalg.norm(x.mean(axis=0))
    below = 1 - x @ centre
    assert below.max() < 0.2 * 1.1
    assert_allclose(below.mean(), 0.1, atol=6 * 0.2 / math.sqrt(12 * 4000))
    with pytest.raises(ValueError, match="share of the sphere"):
        uniform_cap(10, 1.5, random)
    with pytest.raises(ValueError, match="share of the sphere"):
        sample_sphere_pattern("cap", 100, 1.0, random)


def test_rotations_are_proper():
    matrix = random_rotation(np.random.default_rng(2))
    assert_allclose(matrix @ matrix.T, np.eye(3), atol=1e-14)
    assert_allclose(np.linalg.det(matrix), 1.0)


def test_designs_cycle_and_repeat():
    densities = {"uniform": (4.0, 4.0), "clusters": (4.0, 4.0)}
    first, again = (sphere_designs(30, densities, 4, seed=3) for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    nearest = [np.sort(x @ x.T, axis=1)[:, -2].max() for x in first]
    assert max(nearest[1], nearest[3]) > 1 - 1e-4  # clustered
    with pytest.raises(ValueError, match="pattern"):
        sphere_designs(30, {"lattice": (1.0, 1.0)}, 1)
