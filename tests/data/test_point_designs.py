"""Training fields at many sets of places: their densities, their law, what is hidden of them."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.data import (
    Batching,
    ContextSampler,
    MultiDesignGenerator,
    designs,
    disc,
    field_problem,
    stacked_generators,
)
from geomndp.data.grids import covariance
from geomndp.data.point_designs import CLUSTERS, PATTERNS, sample_clusters, sample_pattern

GRID = disc(8, 3.0)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_density_is_as_told(pattern):
    points, density = 900, 2.5
    places = sample_pattern(pattern, points, density, np.random.default_rng(0))
    assert places.shape == (points, 2)
    # Points within a circle well inside; the number of uniform ones is binomial.
    radius = 0.35 * math.sqrt(points / density)
    expected = density * math.pi * radius**2
    inside = np.sum(np.linalg.norm(places, axis=1) < radius)
    assert abs(inside - expected) < 5 * math.sqrt(expected)
    gaps = np.linalg.norm(places[:, None] - places[None], axis=-1) + 9 * np.eye(points)
    if pattern == "lattice":
        assert_allclose(gaps.min(axis=1), 1 / math.sqrt(density), rtol=1e-9)
    else:
        assert gaps.min() < 0.2 / math.sqrt(density)


def sets_like_the_grid(num):
    """The grid, then so many sets of as many points."""
    densities = {"lattice": (1.0, 2.0), "disc": (1.0, 2.0)}
    return [GRID, *designs(len(GRID), densities, num)]


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


@pytest.mark.parametrize("name", ["se", "curl-free"])
def test_factors_are_those_of_the_process(name):
    gp, sets = field_problem(name).gp, sets_like_the_grid(2)
    gp_generators = stacked_generators(gp, sets, "float64")
    for i, places in enumerate(sets):
        factor = gp_generators.factor[i]
        assert_allclose(factor @ factor.T, covariance(gp, places), atol=1e-12)
    assert_allclose(gp_generators.grid, np.stack(sets))


def test_batches_share_places_and_hide_some():
    gp, sets = field_problem("curl-free").gp, sets_like_the_grid(3)
    gp_generators = stacked_generators(gp, sets, "float64")
    generator = MultiDesignGenerator(
        gp_generators=gp_generators, batch_size=4, contexts=ContextSampler(share=1.0, few=6)
    )
    assert generator.batching == Batching(common_inputs=True)
    assert generator.conditional
    draw = eqx.filter_jit(lambda generator, keys: jax.vmap(generator.draw)(keys))
    batches = draw(generator, jr.split(jr.key(0), 400))
    n, counts = len(GRID), np.asarray(batches.mask.sum(axis=-1))
    assert (batches.x == batches.x[:, :1]).all()
    assert (batches.mask == batches.mask[:, :1]).all()
    assert float(jnp.max(batches.context * (1 - batches.mask))) == 0.0
    assert (np.asarray(batches.context.sum(axis=-1)) < counts).all()
    on_grid = (np.asarray(batches.x[:, 0]) == GRID).all(axis=(1, 2))
    assert (counts[on_grid] == n).all()
    # Binomial: half on the grid, half of the others whole.
    assert abs(on_grid.mean() - 0.5) < 5 * math.sqrt(0.25 / 400)
    whole = counts[~on_grid, 0] == n
    assert abs(whole.mean() - 0.5) < 5 * math.sqrt(0.25 / whole.size)
    assert math.ceil(0.35 * n) <= counts.min() < 0.5 * n
    # The values are the process's at their places: white when its factor is undone.
    which = jnp.argmin(
        jnp.abs(batches.x[:, 0, 0, 0, None] - gp_generators.grid[None, :, 0, 0]), axis=1
    )
    values = batches.y.reshape(400, 4, -1, 1)
    factors = jnp.broadcast_to(gp_generators.factor[which][:, None], (400, 4, 2 * n, 2 * n))
    noise = jax.scipy.linalg.solve_triangular(factors, values, lower=True)
    assert abs(float(jnp.mean(noise**2)) - 1) < 5 * math.sqrt(2 / noise.size)


@pytest.mark.parametrize(
    "wrong", [{"first_share": 0.0}, {"min_kept_share": 1.5}, {"batch_size": 0}]
)
def test_wrong_settings_are_refused(wrong):
    gp_generators = stacked_generators(field_problem("se").gp, sets_like_the_grid(1), "float64")
    with pytest.raises(ValueError, match="expected"):
        MultiDesignGenerator(gp_generators=gp_generators, **wrong)


def test_one_set_is_not_many():
    with pytest.raises(ValueError, match="sets"):
        MultiDesignGenerator(
            gp_generators=stacked_generators(field_problem("se").gp, [GRID], "float64")
        )
