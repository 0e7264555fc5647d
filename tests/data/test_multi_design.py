"""Training fields at many designs: their law, contexts, and points that are masked."""

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

GRID = disc(8, 3.0)


def sets_like_the_grid(num):
    """The grid, then so many sets of as many points."""
    densities = {"lattice": (1.0, 2.0), "disc": (1.0, 2.0)}
    return [GRID, *designs(len(GRID), densities, num)]


@pytest.mark.parametrize("name", ["se", "curl-free"])
def test_factors_are_those_of_the_process(name):
    gp, sets = field_problem(name).gp, sets_like_the_grid(2)
    gp_generators = stacked_generators(gp, sets, "float64")
    for i, locations in enumerate(sets):
        factor = gp_generators.factor[i]
        assert_allclose(factor @ factor.T, covariance(gp, locations), atol=1e-12)
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
    # The values are the process's at their locations: white when its factor is undone.
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
