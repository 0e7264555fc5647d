"""Capacity from the points: no pair within the radius is dropped, by either search."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy.spatial.distance import cdist

from geomndp.nets import Steerable2, graph, neighbour_counts, num_dropped_edges, with_capacity
from geomndp.nets.graph_network import neighbour_bucket

from .helper import quick
from .steerable import fresh

RADIUS = 1.95
RANDOM = np.random.default_rng(0)
AXIS = np.linspace(-3, 3, 20)
CORNERS = np.stack(np.meshgrid([0, 2.0], [0, 2.0, 4.0, 5.8]), axis=-1).reshape(-1, 1, 2)
POINTS = {
    "coincident": np.zeros((30, 2)),
    "cluster": RANDOM.uniform(-0.2, 0.2, (160, 2)),
    "grid": np.stack(np.meshgrid(AXIS, AXIS), axis=-1).reshape(-1, 2),
    # Two rows of four clusters out of each other's reach: many points in one stretch of cells.
    "clusters": (CORNERS + RANDOM.uniform(0, 1e-3, (8, 40, 2))).reshape(-1, 2),
    "none": np.zeros((0, 2)),
}


def net(radius=RADIUS, **options):
    """Shapes of a network, all that its graph depends on."""
    sizes = {"channels": 1, "width": 2, "num_layers": 1, "max_neighbours": 24} | options
    return eqx.filter_eval_shape(lambda: Steerable2(radius=radius, **sizes, key=jr.key(0)))


def missed(net, x):
    return int(jax.jit(lambda x: num_dropped_edges(net, x))(jnp.asarray(x, jnp.float32)))


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("name", [name for name in POINTS if name != "none"])
def test_no_pair_is_dropped(name, dense, monkeypatch):
    monkeypatch.setattr(graph, "DENSE", 1024 if dense else 1)
    x = POINTS[name].astype(np.float32)
    assert missed(net(), x) > 0
    assert missed(with_capacity(net(), x), x) == 0


def test_a_part_alone_has_room_too(monkeypatch):
    monkeypatch.setattr(graph, "DENSE", 1)
    # In the cells of both, which start at the targets, no stretch holds all eight clusters.
    context, targets = POINTS["clusters"].astype(np.float32), np.full((1, 2), -1.0, np.float32)
    both = np.concatenate([context, targets])
    roomy = with_capacity(net(), context, targets)
    assert missed(roomy, context) == missed(roomy, both) == 0


def test_counts_are_those_of_all_pairs():
    x = POINTS["grid"]
    expected = (cdist(x, x) < RADIUS).sum(axis=1) - 1
    np.testing.assert_array_equal(neighbour_counts(x, RADIUS), expected)
    assert len(neighbour_counts(POINTS["none"], RADIUS)) == 0


def test_sizes_are_few_and_never_smaller_than_the_networks_own():
    sizes = {neighbour_bucket(count) for count in range(1, 400)}
    few = [24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448]
    assert sorted(sizes) == few
    assert all(count <= neighbour_bucket(count) <= max(24, 1.5 * count) for count in range(1, 400))
    own = net(max_neighbours=50)
    for name in ("coincident", "none"):
        assert with_capacity(own, POINTS[name]) is own
    assert with_capacity(own, POINTS["cluster"]).config.max_neighbours == 160


def test_padding_does_not_count():
    x = np.concatenate([POINTS["coincident"], np.full((500, 2), np.nan)])
    mask = np.arange(530) < 30
    assert with_capacity(net(), x, masks=(mask,)).config.max_neighbours == 32


def test_networks_inside_other_things_are_found():
    tree = {"nets": [net(), 3.0], "other": None}
    found = with_capacity(tree, POINTS["cluster"])
    assert found["nets"][0].config.max_neighbours == 160 and found["nets"][1] == 3.0
    assert with_capacity({"no": 1.0}, POINTS["cluster"]) == {"no": 1.0}


def test_parameters_stay_and_traced_points_may_all_be_neighbours():
    whole = quick(lambda: fresh("plane-vector"))()
    roomy = with_capacity(whole, POINTS["cluster"])
    assert roomy.config.max_neighbours == 160
    assert bool(eqx.tree_equal(jax.tree.leaves(whole), jax.tree.leaves(roomy)))
    sizes = []
    jax.jit(lambda x: sizes.append(with_capacity(whole, x).config.max_neighbours) or x)(
        jnp.asarray(POINTS["cluster"])
    )
    assert sizes == [neighbour_bucket(len(POINTS["cluster"]) - 1)]


def test_space_and_side_information():
    side = np.concatenate([POINTS["cluster"], 100 * RANDOM.normal(size=(160, 1))], axis=1)
    assert with_capacity(net(num_invariant_inputs=1), side).config.max_neighbours == 160
    space = eqx.filter_eval_shape(fresh, "space-vector")
    assert with_capacity(space, np.zeros((60, 3))).config.max_neighbours == 64
