"""Point designs: their densities, and clusters that leave most points alone."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.data import designs
from geomndp.data.point_designs import CLUSTERS, PATTERNS, sample_clusters, sample_pattern


@pytest.mark.parametrize("pattern", PATTERNS)
def test_density_is_as_asked(pattern):
    points, density = 900, 2.5
    locations = sample_pattern(pattern, points, density, np.random.default_rng(0))
    assert locations.shape == (points, 2)
    # Points within a circle well inside; the number of uniform ones is binomial.
    radius = 0.35 * math.sqrt(points / density)
    expected = density * math.pi * radius**2
    inside = np.sum(np.linalg.norm(locations, axis=1) < radius)
    assert abs(inside - expected) < 5 * math.sqrt(expected)
    gaps = np.linalg.norm(locations[:, None] - locations[None], axis=-1) + 9 * np.eye(points)
    if pattern == "lattice":
        assert_allclose(gaps.min(axis=1), 1 / math.sqrt(density), rtol=1e-9)
    else:
        assert gaps.min() < 0.2 / math.sqrt(density)


def test_densities_lie_between_those_of_their_kind():
    bounds = {"disc": (0.5, 1.0), "square": (8.0, 16.0)}
    sets = designs(400, bounds, 30)
    # Mean squared distance from the centre: A / (2 pi) on a disc of area A, A / 6 on a square.
    areas = [
        np.mean(np.sum((x - x.mean(axis=0)) ** 2, axis=1)) * (2 * math.pi, 6)[i % 2]
        for i, x in enumerate(sets)
    ]
    for i, (low, high) in enumerate(bounds.values()):
        density = 400 / np.array(areas[i::2])
        assert 0.8 * low < density.min() < 1.2 * low
        assert 0.8 * high < density.max() < 1.2 * high


def test_clusters_are_tight_and_leave_most_points_alone():
    sets = [sample_clusters(200, 1.0, np.random.default_rng(seed)) for seed in range(40)]
    repeated = [len(x) - len(np.unique(x, axis=0)) for x in sets]
    gaps = [np.linalg.norm(x[:, None] - x[None], axis=-1) + 99 * np.eye(200) for x in sets]
    close = [np.sum(gap.min(axis=1) < 0.02) for gap in gaps]
    assert max(repeated) > 20 and min(repeated) == 0
    assert max(close) <= 0.45 * 200 + 10 and np.mean(close) > 20
    assert {CLUSTERS} & set(PATTERNS) == set()


def test_clusters_beside_half_of_a_lattice():
    x = sample_clusters(200, 2.0, np.random.default_rng(1), lattice=True)
    gaps = np.linalg.norm(x[:, None] - x[None], axis=-1) + 99 * np.eye(200)
    alone = gaps.min(axis=1) > 0.49  # the lattice of density 4 has spacing 1 / 2
    assert 0.5 * 200 < alone.sum() < 200
    # Differences of lattice points are multiples of the spacing.
    steps = 2 * (x[alone] - x[alone][0])
    assert_allclose(steps, np.round(steps), atol=1e-9)
    extent = 200 / 2.0
    assert np.linalg.norm(x[alone], axis=1).max() == pytest.approx(
        math.sqrt(extent / math.pi), rel=0.1
    )
