"""Radius graphs: both searches, truncation, and the gather that is its own kind of transpose."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.nets import cell_list, graph
from geomndp.nets.graph import neighbour_values

from ..cases import random
from .helper import quick


def cloud(d, n=120, *, key):
    x = 4 * jr.uniform(key, (n, d))
    return x, jnp.asarray((np.arange(n) % 7 != 0) * (1.0 + np.arange(n) % 2))


def pairs(found):
    return {
        (i, j)
        for i, (row, real) in enumerate(zip(found.index.tolist(), found.real.tolist(), strict=True))
        for j, is_real in zip(row, real, strict=True)
        if is_real
    }


@pytest.mark.parametrize("d", [1, 2, 3])
def test_both_searches_find_all_pairs(d, getkey, monkeypatch):
    x, mask = cloud(d, key=getkey())
    radius = {1: 0.2, 2: 0.7, 3: 1.2}[d]
    dense = quick(lambda x: graph.radius_graph(x, mask, radius, 60))(x)
    monkeypatch.setattr(graph, "DENSE", 10)
    cells = quick(lambda x: graph.radius_graph(x, mask, radius, 60))(x)
    distance = np.linalg.norm(x[:, None] - x[None], axis=-1)
    same = (mask[:, None] == mask[None]) & (mask[:, None] > 0)
    expected = np.argwhere((distance < radius) & same & ~np.eye(len(x), dtype=bool))
    assert pairs(dense) == pairs(cells) == set(map(tuple, expected.tolist()))
    assert int(dense.num_dropped) == int(cells.num_dropped) == 0


@pytest.mark.parametrize("axis", [0, 1])
def test_cells_find_all_pairs_just_within_the_radius(axis, monkeypatch):
    """Wherever in its cell a point lies: the cells may be no narrower than the radius."""
    monkeypatch.setattr(graph, "DENSE", 10)
    n, spacing = 300, 0.0499
    x = jnp.zeros((n, 2)).at[:, axis].set(spacing * jnp.arange(float(n)))
    found = quick(lambda x: graph.radius_graph(x, jnp.ones(n), 1.0, 48))(x)
    steps = int(1.0 / spacing)
    expected = {(i, j) for i in range(n) for j in range(n) if 0 < abs(i - j) <= steps}
    assert pairs(found) == expected and int(found.num_dropped) == 0


def test_a_range_is_three_cells_long(getkey):
    """So that the work does not grow with what lies further away."""
    x = jnp.asarray(10 * random(getkey()).uniform(size=(200, 1)))
    found = quick(lambda x: cell_list.cell_ranges(x, jnp.ones(200), 0.5))(x)
    cell = np.floor((x - x.min()) / (cell_list.MARGIN * 0.5))
    expected = np.sum(np.abs(cell - cell.T) <= 1, axis=1)
    assert_allclose(np.asarray(found.end - found.start)[:, 0], expected)


@pytest.mark.parametrize("most", [10, 1024])
def test_truncation_is_counted_and_mutual(most, getkey, monkeypatch):
    monkeypatch.setattr(graph, "DENSE", most)
    x, mask = cloud(2, key=getkey())
    whole, cut = (quick(lambda x, k=k: graph.radius_graph(x, mask, 0.9, k))(x) for k in (60, 4))
    kept = pairs(cut)
    assert kept < pairs(whole)
    assert {(j, i) for i, j in kept} == kept
    assert int(cut.num_dropped) >= len(pairs(whole)) - len(kept) > 0


def test_reverse_is_an_involution(getkey):
    x, mask = cloud(2, key=getkey())
    found = quick(lambda x: graph.radius_graph(x, mask, 0.5, 6))(x)
    flat = np.asarray(found.reverse).ravel()
    assert_allclose(flat[flat], np.arange(flat.size))
    own = np.repeat(np.arange(len(x)), 6)
    assert_allclose(np.asarray(found.index).ravel()[flat], own)


def test_gather_has_every_derivative(getkey):
    x, mask = cloud(2, n=30, key=getkey())
    inputs = jnp.stack([x, 1.1 * x])
    h, v = jr.normal(getkey(), (2, 2, 30, 3))
    w = jr.normal(getkey(), (30, 5, 3))

    def loss(x, h, gather):
        found = graph.radius_graph(x, mask, 0.9, 5)
        return jnp.sum(w * gather(h, found) ** 3)

    def ours(h, found):
        return neighbour_values(h, found.index, found.reverse)

    def plain(h, found):
        return h[found.index]

    def results(gather, inputs, h, v):
        def slope(x, h):
            return jax.grad(lambda h: loss(x, h, gather))(h)

        def second(x, h, v):
            return jax.jvp(lambda h: slope(x, h), (h,), (v,))[1]

        shared = jax.vmap(second, in_axes=(None, 0, 0))(inputs[0], h, v)
        return jax.vmap(slope)(inputs, h), jax.vmap(second)(inputs, h, v), shared

    both = quick(lambda *args: (results(ours, *args), results(plain, *args)))
    found, expected = both(inputs, h, v)
    for a, b in zip(found, expected, strict=True):
        assert_allclose(a, b, atol=1e-11)
