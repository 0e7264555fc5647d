"""What evaluations at the same points share, against evaluations that compute it themselves."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

import geomndp as gn
from geomndp.model import sampling
from geomndp.nets import graph
from geomndp.nets.steerable_2d import gaussian_pooling, pooling_layouts

from ..cases import quick, slow_but
from . import helper, steerable, test_spherical_attention, test_steerable_sphere

NAMES = (*helper.NETS, *steerable.STEERABLE, "track", "sphere")
FAST = ("relative", "absolute", "plane-angular", "plane-side", "space-side", "track", "sphere")
POOLINGS = ("kept", "blocks", "series", "cells")


def network(name, key):
    """A network of the lists, and a function whose last rows are masked."""
    if name in helper.NETS:
        return helper.awake(name, key=key), helper.draw(key=key)
    if name == "track":
        net, (t, x, y) = test_spherical_attention.awake(key), test_spherical_attention.track(key)
        return net, helper.Function(t, x, y, jnp.asarray(np.arange(len(x)) < 9, x.dtype))
    if name == "sphere":
        net = test_steerable_sphere.awake(key=key, **test_steerable_sphere.FULL, dtype="float64")
        return net, test_steerable_sphere.draw(net, key=key)
    net = steerable.awake(name, key=key)
    return net, steerable.draw(net, key=key, n=8)


@quick
def both_ways(net, function):
    """One function, samples that share its points, and functions with points of their own."""
    t, x, y, mask = function
    moved = jnp.stack([x, x.at[:, 0].add(0.05)]) if x.shape[1] < 3 else jnp.stack([x, x])
    values = jnp.stack([y, y[::-1]])

    def plain(x, y):
        return net(t, x, y, mask)

    def prepare(x):
        return net.prepare(x, mask)

    def apart(prepared, x, y):
        return net.call_prepared(prepared, t, x, y, mask)

    shared, own = prepare(x), jax.vmap(prepare)(moved)
    samples = jax.vmap(apart, (None, None, 0))(shared, x, values)
    found = apart(shared, x, y), samples, jax.vmap(apart)(own, moved, values)
    expected = plain(x, y), jax.vmap(plain, (None, 0))(x, values), jax.vmap(plain)(moved, values)
    return found, expected


def compare(net, function, rtol=1e-12):
    """Outputs with and without points that are prepared."""
    for found, expected in zip(*both_ways(net, function), strict=True):
        assert_allclose(found, expected, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("name", slow_but(FAST, NAMES))
def test_prepared_points_change_nothing(name, getkey):
    compare(*network(name, getkey()))


@pytest.mark.parametrize("pooling", POOLINGS)
def test_every_form_of_the_pooling(pooling, getkey, monkeypatch):
    if pooling in ("blocks", "cells"):
        monkeypatch.setattr(gaussian_pooling, "PAIRS", 4)
        monkeypatch.setattr(gaussian_pooling, "BLOCK", 64)
        monkeypatch.setattr(graph, "EDGES", 48)
    if pooling in ("series", "cells"):
        monkeypatch.setattr(pooling_layouts, "MOST_PAIRS", 4)
        monkeypatch.setattr(pooling_layouts, "MOST_COMPARED", 4)
    if pooling == "cells":
        monkeypatch.setattr(pooling_layouts, "fourier_layout", lambda *args: None)
    net = steerable.awake("plane-angular", key=getkey())
    function = steerable.draw(net, key=getkey(), n=12)
    net = net.with_room((np.asarray(function.x),), (None,)).with_extent(3.0)
    assert bool(net.layouts) == (pooling in ("series", "cells"))
    compare(net, function, rtol=1e-9)


def test_a_stretch_of_steps_searches_for_no_neighbours(monkeypatch):
    """The search sorts; nothing else in a step does."""
    net = steerable.fresh("plane-angular", dtype="float32")
    limit = gn.kernels.Diagonal(gn.kernels.White(), 3)
    noising = gn.noising.OrnsteinUhlenbeck(limit, gn.noising.LinearSchedule(0.0, 10.0))
    model = gn.Model(noising, gn.score.NetworkScore(net, conditional=True))
    x = np.random.default_rng(0).uniform(-1, 1, (6, 2)).astype(np.float32)
    made, found = {}, sampling.program

    def noted(fn, *args):
        made[fn] = found(fn, *args)
        return made[fn]

    monkeypatch.setattr(sampling, "program", noted)
    posterior = model.condition(x[:2], np.zeros((2, 3), np.float32))
    posterior.sample(x[2:], key=jr.key(0), num_samples=2, sampler=gn.samplers.Amortised(3))
    texts = {fn: program._compiled.as_text().lower() for fn, program in made.items()}
    assert "sort" in texts[sampling.start_samples] or "topk" in texts[sampling.start_samples]
    assert not any(word in texts[sampling.move_samples] for word in ("sort(", "topk"))
