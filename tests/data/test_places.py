"""Training fields at many sets of places: their densities, their law, what is hidden of them."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.data import Contexts, PlacesStream, disc, field_problem, places_like, stacked_samplers
from geomndp.data.grids import covariance
from geomndp.data.places import KINDS, scattered

GRID = disc(8, 3.0)


@pytest.mark.parametrize("kind", KINDS)
def test_density_is_as_told(kind):
    points, density = 900, 2.5
    places = scattered(kind, points, density, np.random.default_rng(0))
    assert places.shape == (points, 2)
    # Points within a circle well inside; the number of uniform ones is binomial.
    radius = 0.35 * math.sqrt(points / density)
    expected = density * math.pi * radius**2
    inside = np.sum(np.linalg.norm(places, axis=1) < radius)
    assert abs(inside - expected) < 5 * math.sqrt(expected)
    gaps = np.linalg.norm(places[:, None] - places[None], axis=-1) + 9 * np.eye(points)
    if kind == "lattice":
        assert_allclose(gaps.min(axis=1), 1 / math.sqrt(density), rtol=1e-9)
    else:
        assert gaps.min() < 0.2 / math.sqrt(density)


def test_densities_lie_about_that_of_the_grid():
    sets = places_like(GRID, 30, spread=2.0)
    assert len(sets) == 31
    assert all(len(places) == len(GRID) for places in sets)
    assert_allclose(sets[0], GRID)
    spans = [np.sqrt(np.mean(np.sum((p - p.mean(axis=0)) ** 2, axis=1))) for p in sets]
    ratio = (np.array(spans[1:]) / spans[0]) ** 2
    assert 0.35 < ratio.min() < 0.8
    assert 1.25 < ratio.max() < 2.9


@pytest.mark.parametrize("name", ["se", "curl-free"])
def test_factors_are_those_of_the_process(name):
    gp, sets = field_problem(name).gp, places_like(GRID, 2)
    samplers = stacked_samplers(gp, sets, "float64")
    for i, places in enumerate(sets):
        factor = samplers.factor[i]
        assert_allclose(factor @ factor.T, covariance(gp, places), atol=1e-12)
    assert_allclose(samplers.grid, np.stack(sets))


def test_batches_share_places_and_hide_some():
    gp, sets = field_problem("curl-free").gp, places_like(GRID, 3)
    samplers = stacked_samplers(gp, sets, "float64")
    stream = PlacesStream(samplers=samplers, batch_size=4, contexts=Contexts(share=1.0, few=6))
    assert stream.shared
    assert stream.conditional
    draw = eqx.filter_jit(lambda stream, keys: jax.vmap(stream.draw)(keys))
    batches = draw(stream, jr.split(jr.key(0), 400))
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
    which = jnp.argmin(jnp.abs(batches.x[:, 0, 0, 0, None] - samplers.grid[None, :, 0, 0]), axis=1)
    values = batches.y.reshape(400, 4, -1, 1)
    factors = jnp.broadcast_to(samplers.factor[which][:, None], (400, 4, 2 * n, 2 * n))
    noise = jax.scipy.linalg.solve_triangular(factors, values, lower=True)
    assert abs(float(jnp.mean(noise**2)) - 1) < 5 * math.sqrt(2 / noise.size)


@pytest.mark.parametrize("wrong", [{"first": 0.0}, {"least": 1.5}, {"batch_size": 0}])
def test_wrong_settings_are_refused(wrong):
    samplers = stacked_samplers(field_problem("se").gp, places_like(GRID, 1), "float64")
    with pytest.raises(ValueError, match="expected"):
        PlacesStream(samplers=samplers, **wrong)


def test_one_set_is_not_many():
    with pytest.raises(ValueError, match="sets"):
        PlacesStream(samplers=stacked_samplers(field_problem("se").gp, [GRID], "float64"))
