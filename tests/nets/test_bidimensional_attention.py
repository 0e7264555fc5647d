"""What tokens of points and of input dimensions can tell apart."""

import jax.numpy as jnp
import pytest
from numpy.testing import assert_allclose

from .helper import awake, draw, run

FOURIER = {"num_frequencies": 2}


@pytest.mark.parametrize(
    ("name", "options"),
    [("absolute", {}), ("absolute", FOURIER), ("absolute", {"pre_norm": True}), ("centred", {})],
)
def test_order_of_input_dimensions(name, options, getkey):
    net = awake(name, key=getkey(), **options)
    function = draw(key=getkey())
    moved = run(net, *function._replace(x=function.x[:, ::-1]))
    assert_allclose(moved, run(net, *function), atol=1e-12)


def test_tokens_of_points_tell_input_dimensions_apart(getkey):
    net = awake("points", key=getkey())
    function = draw(key=getkey())
    moved = run(net, *function._replace(x=function.x[:, ::-1]))
    assert float(jnp.max(jnp.abs(moved - run(net, *function)))) > 1e-3


@pytest.mark.parametrize("name", ["absolute", "points"])
def test_absolute_inputs_are_seen(name, getkey):
    net = awake(name, key=getkey())
    function = draw(key=getkey())
    moved = run(net, *function._replace(x=function.x + 0.5))
    assert float(jnp.max(jnp.abs(moved - run(net, *function)))) > 1e-3


@pytest.mark.parametrize("options", [{"token_axis": "points"}, {"token_axis": "points", **FOURIER}])
def test_centred_tokens_of_points_do_not_change_with_translations(options, getkey):
    net = awake("centred", key=getkey(), **options)
    function = draw(key=getkey())
    moved = run(net, *function._replace(x=function.x + 0.5))
    assert_allclose(moved, run(net, *function), atol=1e-12)


def test_normalised_tokens_compute_something_else(getkey):
    key, function = getkey(), draw(key=getkey())
    plain, scaled = (awake("absolute", key=key, pre_norm=flag) for flag in (False, True))
    assert float(jnp.max(jnp.abs(run(plain, *function) - run(scaled, *function)))) > 1e-3
