"""Messages along edges: the formula in complex numbers, and both orders in which it is summed."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.nets.graph import SOFTENING, radius_graph
from geomndp.nets.steerable_2d import message_passing as module
from geomndp.nets.steerable_2d.message_passing import EdgeEmbedding, edge_matrices, messages

from .helper import quick

POINTS, SLOTS, CHANNELS, RADIUS = 9, 5, 3, 1.5


@pytest.fixture
def passed(getkey):
    """Arguments of `messages` for a graph with free and with taken slots, one point twice."""
    x = jr.uniform(getkey(), (POINTS, 2), maxval=2.0).at[3].set(1.0).at[4].set(1.0)
    graph = radius_graph(x, jnp.ones(POINTS), RADIUS, SLOTS)
    embedding = EdgeEmbedding(RADIUS, 4, 6, dtype="float64", key=getkey())
    edges = embedding(graph.offset, graph.real, None, jnp.dtype("float64"))
    weight = jr.normal(getkey(), (7, 18 * CHANNELS))
    h = jr.normal(getkey(), (POINTS, 6 * CHANNELS))
    return graph, (weight, edges, h, graph.index, graph.reverse)


def test_messages_are_the_formula_in_complex_numbers(passed):
    graph, args = passed
    weight, edges, h, index, _ = args
    offset, h = np.asarray(graph.offset), np.asarray(h).reshape(POINTS, 3, 2, CHANNELS)
    z = offset @ np.array([1, 1j])
    z = z / np.sqrt(np.abs(z) ** 2 + (SOFTENING * RADIUS) ** 2)
    values = (h[:, :, 0] + 1j * h[:, :, 1])[np.asarray(index)]
    factors = np.asarray(edges.radial @ weight).reshape(POINTS, SLOTS, 2, 3, 3, CHANNELS)
    expected = np.zeros((POINTS, 3, CHANNELS), complex)
    for m in range(3):
        for k in range(3):
            turn = z ** (m - k) if m >= k else np.conj(z) ** (k - m)
            plain = factors[:, :, 0, m, k] * turn[..., None] * values[:, :, k]
            conjugated = factors[:, :, 1, m, k] * (z ** (m + k))[..., None]
            expected[:, m] += np.sum(plain + conjugated * np.conj(values[:, :, k]), axis=1)
    found = np.asarray(quick(messages)(*args)).reshape(POINTS, 3, 2, CHANNELS)
    assert_allclose(found[:, :, 0] + 1j * found[:, :, 1], expected, atol=1e-12)
    assert edge_matrices(weight, edges).shape == (POINTS, SLOTS, 6, 6, CHANNELS)


def test_slots_in_turn_are_all_at_once(passed, getkey, monkeypatch):
    """In several blocks of points, of two functions, with derivatives: those of either form."""
    monkeypatch.setattr(module, "CACHED", 4)
    _, (weight, edges, h, *lists) = passed
    both = jnp.stack([h, jr.normal(getkey(), h.shape)])
    tangents = jax.tree.map(lambda leaf: jnp.cos(leaf), (weight, edges, both))

    def pushed(form, weight, edges, both):
        def apply(weight, edges, both):
            return jax.vmap(lambda h: form(weight, edges, h, *lists))(both)

        return jax.jvp(apply, (weight, edges, both), tangents)

    forms = (messages, module._slot_by_slot, module._at_once)
    found, *expected = quick(lambda *args: [pushed(form, *args) for form in forms])(
        weight, edges, both
    )
    for each in expected:
        jax.tree.map(lambda a, b: assert_allclose(a, b, atol=1e-12), found, each)
