"""Fields on a grid: their law, finite sets, contexts, and the problems' definitions."""

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.data import (
    FIELDS,
    Batching,
    CholeskyGenerator,
    ContextSampler,
    GridGenerator,
    covariance,
    disc,
    field_problem,
)
from geomndp.gp import GP
from geomndp.kernels import CurlFree, Diagonal, SquaredExponential

CASES = {
    "shared": GP(Diagonal(SquaredExponential(1.5), 2), noise=0.02),
    "curl-free": GP(CurlFree(1.5), noise=0.02),
}


def test_the_paper_grid():
    grid = disc()
    assert grid.shape == (648, 2)
    assert np.linalg.norm(grid, axis=1).max() <= 10


@pytest.mark.parametrize("name", CASES)
def test_draws_have_the_law_of_the_process(name):
    gp, grid = CASES[name], disc(4, 2.0)
    gp_generator = CholeskyGenerator(gp, grid)
    generator = GridGenerator(gp_generator=gp_generator, batch_size=4000, contexts=None)
    batch = eqx.filter_jit(generator.draw)(jr.key(0))
    y = np.asarray(batch.y).reshape(4000, -1)
    truth = np.asarray(gp.gram(jnp.asarray(grid)).dense())
    spread = np.sqrt(truth**2 + np.outer(np.diag(truth), np.diag(truth)))
    assert np.abs((y.T @ y / 4000 - truth) / spread).max() * 4000**0.5 < 5
    assert generator.batching == Batching(common_inputs=True, padded=False)
    assert bool(jnp.all(batch.x == gp_generator.grid[None]))
    assert covariance(gp, grid).shape == gp_generator.factor.shape


def test_a_finite_set_repeats_and_an_endless_one_does_not():
    gp_generator = CholeskyGenerator(CASES["shared"], disc(4, 2.0))
    finite = GridGenerator(gp_generator=gp_generator, batch_size=64, num_functions=3)
    fields = [np.asarray(eqx.filter_jit(finite.draw)(jr.key(k)).y).round(9) for k in (0, 1)]
    assert len(np.unique(np.concatenate(fields).reshape(128, -1), axis=0)) == 3
    endless = GridGenerator(gp_generator=gp_generator, batch_size=64)
    fields = np.asarray(eqx.filter_jit(endless.draw)(jr.key(0)).y)
    assert len(np.unique(fields.reshape(64, -1), axis=0)) == 64


def test_contexts_are_random_places():
    gp_generator = CholeskyGenerator(CASES["shared"], disc(6, 2.0))
    generator = GridGenerator(
        gp_generator=gp_generator, batch_size=512, contexts=ContextSampler(1.0, few=6)
    )
    marks = np.asarray(generator.draw(jr.key(0)).context)
    assert (marks.sum(axis=1) < marks.shape[1]).all()
    share = marks.mean(axis=0)
    assert_allclose(share, share.mean(), atol=5 * np.sqrt(0.25 / 512))


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("name", FIELDS)
def test_problems(name, dim):
    problem = field_problem(name, dim)
    assert problem.gp.dim == problem.codomain.size
    assert len(problem.grid) > 2 * problem.contexts
    row = jnp.asarray(problem.grid[:1])
    assert_allclose(jnp.mean(problem.gp.gram(row).diagonal()), problem.variance, rtol=1e-12)


def test_tasks_are_fixed_and_marked():
    problem = field_problem("se", contexts=25)._replace(grid=disc(8, 3.0), contexts=5)
    first, again = (problem.tasks(3, seed=4) for _ in range(2))
    assert bool(jnp.all(first.y == again.y)) and bool(jnp.all(first.context == again.context))
    assert_allclose(first.context.sum(axis=1), 5)
