"""Set convolutions against their sums, and grids that move with the points."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.baselines.neural_processes import set_conv
from geomndp.baselines.neural_processes.set_conv import DENSITY_FLOOR, Grid, SetConv

grid_over = eqx.filter_jit(set_conv.grid_over)


def layer(lengthscale=0.3, **options) -> SetConv:
    return SetConv(lengthscale, dtype="float64", **options)


@jax.jit
def encode(*args):
    return layer().encode(*args)


@jax.jit
def decode(*args):
    return layer().decode(*args)


def weights(grid: Grid, x, lengthscale: float) -> np.ndarray:
    """Weights (n, cells) of every point at every cell, from distances."""
    cells = np.stack(np.meshgrid(*np.asarray(grid.axes()), indexing="ij"), axis=-1)
    cells = cells.reshape(-1, x.shape[1])
    square = np.sum((np.asarray(x)[:, None] - cells[None]) ** 2, axis=-1)
    return np.exp(-0.5 * square / lengthscale**2)


@pytest.mark.parametrize("dim", [1, pytest.param(2, marks=pytest.mark.slow), 3])
def test_encoding_and_decoding_are_weighted_sums_over_points_and_cells(dim, getkey):
    x, y = jr.normal(getkey(), (5, dim)), jr.normal(getkey(), (5, 2))
    grid = grid_over(0.5, 7, (x, None))
    w = weights(grid, x, 0.3)
    encoded = np.asarray(encode(x, y, None, grid)).reshape(3, -1)
    assert_allclose(encoded[0], w.sum(0), atol=1e-12)
    expected = w.T @ np.asarray(y) / (w.sum(0)[:, None] + DENSITY_FLOOR)
    assert_allclose(encoded[1:].T, expected, atol=1e-12)
    h = jr.normal(getkey(), (4, *(7,) * dim))
    scale = (np.sqrt(2 * np.pi) * 0.3 / 0.5) ** dim
    expected = w @ np.asarray(h).reshape(4, -1).T / scale
    assert_allclose(decode(h, grid, x), expected, atol=1e-12)


def test_a_constant_on_the_grid_stays_one_far_from_its_edges():
    grid = grid_over(0.1, 121, (jnp.zeros((1, 1)), None))
    x = jnp.linspace(-2.0, 2.0, 13)[:, None]
    assert_allclose(decode(jnp.ones((1, 121)), grid, x), 1.0, rtol=1e-9)


@pytest.mark.parametrize("size", [4, 5])
def test_grid_lies_on_multiples_of_the_spacing_and_moves_with_the_points(size, getkey):
    x = jr.normal(getkey(), (6, 2))
    grid = grid_over(0.25, size, (x[:2], None), (x[2:], jnp.ones(4)))
    multiples = np.asarray(grid.axes()) / 0.25
    assert_allclose(multiples, np.round(multiples), atol=1e-9)
    middle = (np.min(x, axis=0) + np.max(x, axis=0)) / 2
    assert np.all(np.abs(np.asarray(grid.centre) - middle) <= 0.125 + 1e-9)
    moved = grid_over(0.25, size, (x + 3.0, None))
    assert_allclose(moved.offsets(x + 3.0), grid.offsets(x), atol=1e-12)
    if size % 2:
        turned = grid_over(0.25, size, (-x, None))
        assert_allclose(np.asarray(turned.axes()), -np.asarray(grid.axes())[:, ::-1], atol=1e-12)


def test_padding_changes_neither_grid_nor_encoding(getkey):
    x, y = jr.normal(getkey(), (4, 1)), jr.normal(getkey(), (4, 1))
    padded = jnp.concatenate([x, jnp.full((2, 1), jnp.nan)])
    values, mask = (
        jnp.concatenate([y, jnp.full((2, 1), jnp.inf)]),
        jnp.asarray([1.0] * 4 + [0.0] * 2),
    )
    grid = grid_over(0.2, 21, (padded, mask))
    assert_allclose(grid.centre, grid_over(0.2, 21, (x, None)).centre)
    expected = encode(x, y, None, grid)
    assert_allclose(encode(padded, values, mask, grid), expected, atol=1e-14)
    assert bool(grid.covers(padded, mask))
    assert not bool(grid.covers(padded.at[5].set(100.0)))


def test_no_points_have_no_density_and_a_grid_about_the_origin():
    none, mask = jnp.zeros((0, 2)), jnp.zeros(3)
    grid = grid_over(0.5, 3, (none, None), (jnp.full((3, 2), 7.0), mask))
    assert_allclose(grid.centre, 0.0)
    assert_allclose(encode(none, jnp.zeros((0, 1)), None, grid), jnp.zeros((2, 3, 3)))


def test_a_fixed_lengthscale_has_no_gradient(getkey):
    x, y = jr.normal(getkey(), (4, 1)), jr.normal(getkey(), (4, 1))
    grid = grid_over(0.5, 9, (x, None))

    def gradient(learnt):
        total = jax.grad(lambda conv: jnp.sum(conv.encode(x, y, None, grid) ** 2))
        return float(total(layer(learnt=learnt)).log_lengthscale)

    assert gradient(False) == 0.0
    assert abs(gradient(True)) > 1e-3


def test_a_lengthscale_that_is_not_positive_is_refused():
    with pytest.raises(ValueError, match="expected lengthscale > 0"):
        layer(0.0)
