"""Messages as sums of products are those of the edges' matrices, derivatives included."""

import jax
import jax.numpy as jnp
from numpy.testing import assert_allclose

from geomndp import nets

from .helper import gradients, run
from .steerable import awake, draw


def test_sums_and_matrices_give_the_same_messages(getkey):
    net = awake("plane-tensor", key=getkey(), num_pooling_widths=0)
    summed = nets.with_config(net, common_graph=False)
    function = draw(net, key=getkey())
    function = function._replace(x=function.x.at[1].set(function.x[0]))  # a repeated location
    plain = run(net, *function)
    assert float(jnp.std(plain)) > 1e-4
    assert_allclose(run(summed, *function), plain, atol=1e-11)
    expected, found = (jax.tree.leaves(gradients(n, function)) for n in (net, summed))
    for a, b in zip(found, expected, strict=True):
        assert_allclose(a, b, rtol=1e-7, atol=1e-9)
