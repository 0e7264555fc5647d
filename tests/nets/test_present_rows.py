"""Which points of a request a graph network makes room for."""

import jax.random as jr
import numpy as np
from numpy.testing import assert_array_equal

from geomndp.nets import Steerable2
from geomndp.nets.graph_network import present_rows


def test_a_row_counts_where_any_group_of_its_outputs_does():
    x = np.arange(6.0).reshape(3, 2)
    assert_array_equal(present_rows(x, None), x)
    assert_array_equal(present_rows(x, np.array([1.0, 0.0, 1.0])), x[[0, 2]])
    assert_array_equal(present_rows(x, np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])), x[[0, 2]])
    assert present_rows(x[:0], np.zeros((0, 2))).shape == (0, 2)


def test_room_is_for_points_of_which_single_outputs_are_missing():
    """Forty coincident points with one of two outputs each, beside padding."""
    net = Steerable2(("scalar", "scalar"), radius=1.0, max_neighbours=4, key=jr.key(0))
    x, mask = np.zeros((50, 2)), np.zeros((50, 2))
    mask[:40, 0] = 1
    room = net.with_room((x,), (mask,)).config.max_neighbours
    assert 39 <= room < 2 * 39
    assert net.with_room((x,), (mask[:, 0],)).config.max_neighbours == room
