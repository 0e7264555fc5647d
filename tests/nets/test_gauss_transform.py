"""Pooling in linear cost: the sums of all pairs to 1e-5, wherever the points lie."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.nets import Steerable2, with_capacity, with_config
from geomndp.nets.steerable_2d import pooling_layouts as layouts_module
from geomndp.nets.steerable_2d.cell_layout import (
    FARTHEST,
    TOLERANCE,
    cell_layout,
    cell_width,
)
from geomndp.nets.steerable_2d.gauss_transform import kept_numbers
from geomndp.nets.steerable_2d.gaussian_pooling import gaussian_pooling, pooling_widths
from geomndp.nets.steerable_2d.pooling_layouts import pooling_layouts

from .helper import quick

RADIUS, WIDTHS = 1.0, 2


def clusters(rng):
    """A dense cluster, scattered points around it, a line, and a lone pair far away."""
    line = np.stack([np.linspace(-30, 40, 60), np.linspace(10, 11, 60)], axis=1)
    far = np.array([[500.0, -700.0], [500.3, -700.1]])
    return np.concatenate(
        [0.05 * rng.normal(size=(150, 2)), rng.uniform(-8, 8, (80, 2)), line, far]
    )


def lattice(_):
    """Points on the boundaries of cells."""
    axis = cell_width(0.75) * np.arange(-8, 9) / 2
    return np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)


def layouts_of(x, angular=False):
    known = [cell_layout(x, width, angular) for width in pooling_widths(RADIUS, WIDTHS)]
    assert None not in known
    return tuple(known)


def pooled(x, mask, features, angular, layouts=()):
    dtype = jnp.dtype(features.dtype)
    counts, pool = gaussian_pooling(x, mask, RADIUS, WIDTHS, dtype, angular, layouts)
    return counts, pool(features)


@pytest.mark.parametrize(
    ("points", "angular", "dtype"), [(clusters, False, "float32"), (lattice, True, "float64")]
)
def test_sums_by_cells_are_those_of_all_pairs(points, angular, dtype):
    rng = np.random.default_rng(0)
    x = points(rng).astype(dtype)
    features = jnp.asarray(rng.choice([-1.0, 1.0], (len(x), 2, WIDTHS, 3)), dtype)
    mask = jnp.asarray(rng.uniform(size=len(x)) > 0.2, dtype)
    arrays = jnp.where(mask[:, None] > 0, jnp.asarray(x), 0.0), mask, features
    layouts = layouts_of(x, angular)
    counts, means = quick(lambda *a: pooled(*a, angular, layouts))(*arrays)
    all_counts, all_means = quick(lambda *a: pooled(*a, angular))(*arrays)
    assert_allclose(counts, all_counts, rtol=TOLERANCE)
    assert_allclose(means, all_means, atol=TOLERANCE)
    assert float(jnp.max(jnp.abs(all_means))) > 0.5


def test_points_outside_the_layout_and_several_functions_are_no_numbers():
    x = np.random.default_rng(1).uniform(-3, 3, (40, 2))
    layouts, ones = layouts_of(x), jnp.ones((40, 1, WIDTHS, 1))
    run = quick(lambda x, mask: pooled(x, mask, ones, False, layouts)[1])
    mask = jnp.ones(40)
    assert bool(jnp.all(jnp.isfinite(run(jnp.asarray(x), mask))))
    assert bool(jnp.all(jnp.isnan(run(20 * jnp.asarray(x), mask))))
    assert bool(jnp.all(jnp.isnan(run(jnp.asarray(x), mask.at[3:].set(2.0)))))


def test_parts_are_averaged_in_turn_where_there_is_no_room_for_all(monkeypatch):
    """On an accelerator all parts at once, unless the moments of their cells are too many."""
    rng, found = np.random.default_rng(0), []
    x = rng.uniform(-4, 4, (30, 2))
    features, layouts = jnp.asarray(rng.normal(size=(30, 11, WIDTHS, 2))), layouts_of(x)
    most = 22 * max(kept_numbers(layout, False) for layout in layouts)
    for scale, numbers in ((1, most), (2, most / 2), (2, most / 2 - 1)):
        monkeypatch.setattr(layouts_module, "chunk_scale", lambda scale=scale: scale)
        monkeypatch.setattr(layouts_module, "MOST_NUMBERS", numbers)
        mean = lambda f: pooled(jnp.asarray(x), jnp.ones(30), f, False, layouts)[1]  # noqa: E731
        scans = str(jax.make_jaxpr(mean)(features)).count(f"length={features.shape[1]}")
        found.append((scans, quick(mean)(features)))
    assert [scans > 0 for scans, _ in found] == [True, False, True]
    assert_allclose(found[0][1], found[1][1], atol=1e-12)


def test_layouts_are_refused_where_they_would_err():
    """Two million points beside a lone one outweigh it by their errors; far cells have no key."""
    lone = np.zeros((1, 2))
    beside = np.concatenate([np.tile([[6.0, 0.0]], (2_000_000, 1)), lone])
    assert cell_layout(beside, 1.0, angular=True) is None
    assert cell_layout(lone + 2.1 * FARTHEST, 1.0, angular=False) is None
    assert cell_layout(lone, 1.0, angular=False) is not None


def test_few_traced_or_packed_points_have_no_layouts(monkeypatch):
    monkeypatch.setattr(layouts_module, "MOST_COMPARED", 10)
    x = np.random.default_rng(2).uniform(-3, 3, (11, 2))
    arguments = pooling_widths(RADIUS, WIDTHS), False
    assert len(pooling_layouts((x,), (None,), *arguments)) == WIDTHS
    assert pooling_layouts((x[:10],), (None,), *arguments) == ()
    assert pooling_layouts((x,), (np.arange(11) > 0,), *arguments) == ()
    assert pooling_layouts((x,), (1 + np.arange(11),), *arguments) == ()
    assert jax.jit(lambda x: len(pooling_layouts((x,), (None,), *arguments)))(x) == 0


def small_network():
    key = jr.key(0)
    options = {"channels": 2, "width": 4, "num_layers": 1, "num_pooling_widths": 2}
    net = Steerable2(radius=RADIUS, **options, key=key)
    leaves, structure = jax.tree.flatten(net)
    keys = jr.split(jr.key(1), len(leaves))
    leaves = [0.3 * jr.normal(k, leaf.shape) for k, leaf in zip(keys, leaves, strict=True)]
    return jax.tree.unflatten(structure, leaves)


def test_networks_of_many_points_have_layouts_and_a_new_configuration_none(monkeypatch):
    monkeypatch.setattr(layouts_module, "MOST_COMPARED", 50)
    net = eqx.filter_eval_shape(small_network)
    x = np.random.default_rng(3).uniform(-6, 6, (60, 2))
    ready = with_capacity(net, x[:20], x[20:])
    assert len(ready.layouts) == 2 and net.layouts == ()
    assert with_capacity(ready, x[:50]).layouts == ()
    assert with_config(ready).layouts == ()


@pytest.mark.slow  # two networks to compile
def test_values_of_networks_do_not_depend_on_the_layout(monkeypatch):
    """Those of all pairs, for the points and for some of them, under vmap."""
    monkeypatch.setattr(layouts_module, "MOST_COMPARED", 50)
    x = np.random.default_rng(3).uniform(-6, 6, (60, 2))
    ready, t = with_capacity(small_network(), x), jnp.asarray(0.5)
    y, mask = jr.normal(jr.key(2), (2, 60, 2)), jnp.ones(60).at[50:].set(0.0)
    call = quick(lambda net, y: jax.vmap(lambda y: net(t, jnp.asarray(x), y, mask))(y))
    assert_allclose(call(ready, y), call(with_config(ready), y), atol=3e-5)
