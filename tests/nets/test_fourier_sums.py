"""Pooling by Fourier series: the sums of all pairs to the error that is allowed."""

import tracemalloc

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.nets import Steerable2
from geomndp.nets.steerable_2d.cell_layout import CellLayout
from geomndp.nets.steerable_2d.fourier_sums import FourierLayout, fourier_layout
from geomndp.nets.steerable_2d.gaussian_pooling import gaussian_pooling, pooling_widths
from geomndp.nets.steerable_2d.pooling_layouts import pooling_layouts

from .helper import quick

RADIUS, NUM_WIDTHS = 1.0, 2
WIDTHS = pooling_widths(RADIUS, NUM_WIDTHS)


def lattice(side, spacing=0.25):
    axis = spacing * np.arange(side)
    return np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)


def pooled(x, mask, features, angular, layouts=()):
    dtype = jnp.dtype(features.dtype)
    counts, pool = gaussian_pooling(x, mask, RADIUS, NUM_WIDTHS, dtype, angular, layouts)
    return counts, pool(features)


@pytest.mark.parametrize(("angular", "dtype"), [(True, "float32"), (False, "float64")])
def test_sums_are_those_of_all_pairs(angular, dtype):
    """A lattice far from the origin with lone points beside it, and padding.

    Features of random signs, and such that add up: all one, or with the signs of half-planes.
    """
    rng = np.random.default_rng(0)
    lone = np.array([[-1.0, 6.0], [8.5, 8.5], [4.0, -1.5]])
    x = (30 + np.concatenate([lattice(28), lone])).astype(dtype)
    random = rng.choice([-1.0, 1.0], len(x))
    signs = np.stack([random, np.ones(len(x)), *np.sign(x - x.mean(axis=0)).T], axis=1)
    features = jnp.asarray(
        np.repeat(signs, NUM_WIDTHS, axis=1).reshape(-1, 2, NUM_WIDTHS, 2), dtype
    )
    mask = jnp.asarray(np.arange(len(x)) % 9 != 4, dtype)
    arrays = jnp.where(mask[:, None] > 0, jnp.asarray(x), 0.0), mask, features
    allowed = 3e-5
    layout = fourier_layout(x.astype(float), WIDTHS, True, allowed)
    assert layout is not None and fourier_layout(x.astype(float), WIDTHS, True) is None
    layouts = (layout,) * NUM_WIDTHS
    counts, means = quick(lambda *a: pooled(*a, angular, layouts))(*arrays)
    all_counts, all_means = quick(lambda *a: pooled(*a, angular))(*arrays)
    tolerance = allowed if dtype == "float32" else 3e-6
    assert_allclose(counts, all_counts, rtol=tolerance, atol=1e-9)
    assert_allclose(means, all_means, atol=tolerance)
    assert float(jnp.max(jnp.abs(all_means))) > 0.5


def test_points_outside_the_layout_and_several_functions_are_no_numbers():
    x, ones = jnp.asarray(lattice(5)), jnp.ones((25, 1, NUM_WIDTHS, 1))
    layouts, mask = (FourierLayout(1.5),) * NUM_WIDTHS, jnp.ones(25)
    run = quick(lambda x, mask: pooled(x, mask, ones, False, layouts)[1])
    assert bool(jnp.all(jnp.isfinite(run(x, mask))))
    assert bool(jnp.all(jnp.isnan(run(2 * x, mask))))
    assert bool(jnp.all(jnp.isnan(run(x, mask.at[3:].set(2.0)))))


def test_a_series_is_taken_where_it_is_cheaper_and_right():
    """Not for few points, for sparse ones, nor for a cluster that outweighs lone ones."""
    dense = lattice(30)
    assert fourier_layout(dense, WIDTHS, True) is not None
    assert fourier_layout(4 * dense, WIDTHS, True) is None
    assert fourier_layout(1e9 * dense, WIDTHS, True) is None
    lone = np.array([[7.0, 7.0]])
    assert fourier_layout(np.concatenate([0.1 * dense, lone]), WIDTHS, True) is None
    assert fourier_layout(np.concatenate([0 * dense, lone]), WIDTHS, True) is None
    assert fourier_layout(dense, WIDTHS, True, 1e-8) is None
    assert isinstance(pooling_layouts((dense,), (None,), WIDTHS, True)[0], FourierLayout)
    assert pooling_layouts((dense[:700],), (None,), WIDTHS, True) == ()
    assert isinstance(pooling_layouts((4 * lattice(65),), (None,), WIDTHS, True)[0], CellLayout)


def test_boxes_come_in_few_sizes():
    extents = np.geomspace(5, 9.9, 40)
    points = [extent / 29 * np.arange(30) for extent in extents]
    grids = [np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2) for axis in points]
    layouts = [fourier_layout(x, WIDTHS, True) for x in grids]
    sizes = {layout.extent for layout in layouts if layout is not None}
    assert len(sizes) <= 17
    ratios = [layout.extent / e for layout, e in zip(layouts, extents, strict=True) if layout]
    assert min(ratios) > 1 and max(ratios) < 1.07


def test_points_far_apart_are_refused_before_any_wave_vector_is_listed():
    tracemalloc.start()
    assert fourier_layout(1000 * lattice(30), WIDTHS, True) is None
    assert tracemalloc.get_traced_memory()[1] < 2**24
    tracemalloc.stop()


def test_the_box_of_others_is_taken_where_it_is_less_than_twice_as_wide(getkey):
    net = Steerable2(("scalar",), radius=1.0, width=4, channels=2, num_layers=1, key=getkey())
    net = net._with_layouts((FourierLayout(4.0),))
    found = {extent: net.with_extent(extent).layouts[0].extent for extent in (1.0, 4.9, 9.9, 79.0)}
    assert found == {1.0: 4.0, 4.9: 5.0, 9.9: 5.0, 79.0: 5.0}
