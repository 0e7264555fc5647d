"""The compiled loop over the layers of the planar network, against one layer after the other."""

import jax
import jax.numpy as jnp
import pytest
from numpy.testing import assert_allclose

from geomndp.nets.layers import rms_norm
from geomndp.nets.steerable_2d.gaussian_pooling import gaussian_pooling
from geomndp.nets.steerable_2d.message_passing import neighbourhood, sender

from ..cases import quick
from .steerable import awake, draw


def one_by_one(net, h, time, x, mask, send, pool):
    """Features after every layer, pooling and attention, in the order of the lists."""
    config = net.config
    for i, layer in enumerate(net.layers):
        h = h + layer(rms_norm(h), time, send)
        if net.smoothings:
            h = h + net.smoothings[i](rms_norm(h), time, pool)
        if net.attentions:
            h = h + net.attentions[i](rms_norm(h), x, config.radius, mask, None)
    return h


@pytest.mark.parametrize("name", ["plane-tensor", "plane-attention", "plane-angular"])
def test_loop_over_layers(name, getkey):
    """Outputs and gradients, so that every layer's parameters are its own, in their order."""
    net = awake(name, key=getkey(), num_layers=3)
    t, x, _, mask = draw(net, key=getkey(), n=8)
    h = jax.random.normal(getkey(), (8, 6 * net.config.channels))

    @quick
    def both(net, h):
        send = sender(net.edge, neighbourhood(net.edge, net.graph(x, mask), h.dtype))
        config, pool = net.config, None
        if net.smoothings:
            widths = config.radius, config.num_pooling_widths
            pool = gaussian_pooling(x[:, :2], mask, *widths, h.dtype, config.angular_pooling)[1]
        rest = (net.time(t), x[:, :2], mask, send, pool)

        def loss(net, apply):
            out = apply(net, h, *rest)
            return jnp.sum(out**2), out

        scanned = jax.grad(lambda net: loss(net, type(net)._updated), has_aux=True)(net)
        return scanned, jax.grad(lambda net: loss(net, one_by_one), has_aux=True)(net)

    found, expected = both(net, h)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert_allclose(a, b, rtol=1e-9, atol=1e-9)
