"""Inputs on a circle: where they are wrapped, and how far apart they are."""

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from geomndp.data import Normaliser, circle


def test_wrapped_numbers_are_the_same_point_near_the_centre():
    x = np.random.default_rng(0).uniform(-500, 500, (50, 2))
    wrapped = circle.wrap(x, (3.0, 0.0), (24.0, 0.0))
    assert_array_equal(wrapped[:, 1], x[:, 1])
    assert np.abs(wrapped[:, 0] - 3.0).max() <= 12.0
    turns = (x - wrapped)[:, 0] / 24.0
    assert_allclose(turns, np.round(turns), atol=1e-12)
    assert_allclose(circle.wrap(jnp.asarray(x), (3.0, 0.0), (24.0, 0.0)), wrapped, atol=1e-12)
    with pytest.raises(ValueError, match="2 coordinates"):
        circle.wrap(x[:, :1], (0.0,), (24.0, 0.0))


def test_the_seam_lies_in_the_largest_gap():
    assert circle.opposite_of_gap(np.arange(24.0), 24.0) == 11.5  # the order of the hours stays
    days = np.asarray([350.0, 355.0, 2.0, 10.0, 732.0])
    middle = circle.opposite_of_gap(days, 365.0)
    wrapped = circle.wrap(days[:, None], (middle,), (365.0,))
    assert np.ptp(wrapped) == pytest.approx(25.0)


def test_extents_are_shortest_arcs():
    x = np.asarray([[350.0, 1.0], [5.0, 4.0], [365.0, 2.0]])
    assert_allclose(circle.extents(x, (365.0, 0.0)), [20.0, 3.0])
    assert_allclose(circle.extents(x, ()), [360.0, 3.0])
    assert_allclose(circle.extents(x[:1], (365.0, 0.0)), 0.0)


def test_near_points_keep_their_distance():
    x = np.asarray([[364.9, 0.0], [365.1, 0.0], [0.2, 0.0]])
    embedded = circle.embed(x, (365.0, 0.0))
    assert_allclose(np.linalg.norm(embedded[1] - embedded[0]), 0.2, rtol=1e-4)
    assert_allclose(np.linalg.norm(embedded[2] - embedded[0]), 0.3, rtol=1e-4)


def test_a_normaliser_takes_whole_periods_away():
    units = Normaliser(x_shift=(180.0, 1.0), x_scale=(100.0, 2.0), x_period=(365.0, 0.0))
    x = np.asarray([[10.0, 3.0], [350.0, 5.0]])
    later = x + np.asarray([[365.0 * 40, 0.0]])
    assert_array_equal(units.forward_x(later), units.forward_x(x))
    assert_allclose(units.inverse_x(jnp.asarray(units.forward_x(later))), x)
    assert units.model_periods == (3.65, 0.0)
    assert Normaliser().model_periods == ()
    with pytest.raises(ValueError, match="x_period >= 0"):
        Normaliser(x_period=(-1.0,))
