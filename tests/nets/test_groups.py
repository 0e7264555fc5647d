"""Networks whose groups of outputs have times and masks of their own."""

import jax
import jax.numpy as jnp
import jax.random as jr
import pytest
from numpy.testing import assert_allclose

from geomndp import nets

from .helper import Function, awake, gradients, run

every = pytest.mark.parametrize("name", ["relative", "points", "centred"])
MASK = jnp.asarray([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 0.0], [1.0, 1.0], [1.0, 0.0]])


def draw(key, p=4):
    """Six points in the plane, whose four outputs are two groups."""
    keys = jr.split(key, 3)
    n = len(MASK)
    return Function(
        jr.uniform(keys[0], MASK.shape),
        jr.normal(keys[1], (n, 2)),
        jr.normal(keys[2], (n, p)),
        MASK,
    )


@every
def test_missing_values_change_nothing(name, getkey):
    net, function = awake(name, p=4, num_groups=2, key=getkey()), draw(getkey())
    outputs, missing = run(net, *function), jnp.repeat(MASK, 2, axis=1) == 0
    assert jnp.all(outputs[missing] == 0) and jnp.all(outputs[~missing] != 0)
    for wild in (1e3, jnp.nan):
        changed = function._replace(
            y=jnp.where(missing, wild, function.y), t=jnp.where(MASK == 0, wild, function.t)
        )
        assert jnp.array_equal(run(net, *changed), outputs)
        assert all(jnp.all(jnp.isfinite(g)) for g in jax.tree.leaves(gradients(net, changed)))


@every
def test_a_row_without_values_is_no_row(name, getkey):
    net, function = awake(name, p=4, num_groups=2, key=getkey()), draw(getkey())
    kept = jnp.asarray([0, 1, 2, 4, 5])
    fewer = run(net, *(v[kept] for v in function))
    assert_allclose(run(net, *function)[kept], fewer, atol=1e-12)


@every
def test_times_and_masks_of_points_are_those_of_all_groups(name, getkey):
    net, function = awake(name, p=4, num_groups=2, key=getkey()), draw(getkey())
    t, rows = function.t[:, 0], jnp.asarray([1.0, 1.0, 0.0, 1.0, 1.0, 1.0])
    both = jnp.stack([t, t], axis=1), jnp.stack([rows, rows], axis=1)
    plain = run(net, t, function.x, function.y, rows)
    assert jnp.array_equal(plain, run(net, both[0], function.x, function.y, both[1]))


@every
def test_every_group_sees_the_times_of_the_others(name, getkey):
    net, function = awake(name, p=4, num_groups=2, key=getkey()), draw(getkey())
    later = function._replace(t=function.t.at[1, 1].add(0.3))
    change = jnp.abs(run(net, *later) - run(net, *function))
    assert change[1, 0] > 1e-6 and change[4, 0] > 1e-6


def test_refusals(getkey):
    net, function = awake("relative", p=4, key=getkey()), draw(getkey())
    with pytest.raises(ValueError, match="a network of num_groups=2, where outputs are observed"):
        net(*function)
    with pytest.raises(ValueError, match="expected num_groups to divide 3 outputs, got 2"):
        nets.RelativeAttention(2, 3, num_groups=2, key=getkey())
