"""Identities that hold for every network."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp import nets
from geomndp._model_files import tag_of

from ..cases import slow_but
from .helper import DTYPES, INVARIANT, NETS, TOLERANCE, awake, draw, fresh, gradients, quick, run

every = pytest.mark.parametrize("name", NETS)
invariant = pytest.mark.parametrize("name", INVARIANT)
mostly64 = pytest.mark.parametrize("dtype", slow_but(("float64",), DTYPES))


@every
@mostly64
def test_permutation_of_points(name, dtype, getkey):
    net = awake(name, key=getkey(), dtype=dtype)
    function = draw(key=getkey(), dtype=dtype)
    order = jr.permutation(getkey(), len(function.x))
    moved = run(net, *(value[order] for value in function))
    assert_allclose(moved, run(net, *function)[order], atol=TOLERANCE[dtype], rtol=TOLERANCE[dtype])


@every
def test_no_mask_is_a_mask_of_ones(name, getkey):
    net, function = awake(name, key=getkey()), draw(key=getkey(), masked=0)
    assert_allclose(run(net, *function[:3]), run(net, *function), atol=1e-13, rtol=1e-13)


@invariant
@pytest.mark.parametrize(
    ("shift", "dtype"),
    [
        (0.5, "float32"),
        (-1e3, "float64"),
        pytest.param(0.5, "float64", marks=pytest.mark.slow),
        pytest.param(-1e3, "float32", marks=pytest.mark.slow),
    ],
)
def test_translation(name, shift, dtype, getkey):
    net = awake(name, key=getkey(), dtype=dtype)
    function = draw(key=getkey(), dtype=dtype)
    moved = run(net, *function._replace(x=function.x + shift))
    assert_allclose(moved, run(net, *function), atol=TOLERANCE[dtype], rtol=TOLERANCE[dtype])


@invariant
def test_translation_of_inputs_that_round(name, getkey):
    # The shifted inputs are off by up to 3e-5 each, angles by 2 pi / 0.1 times as much.
    net = awake(name, key=getkey(), dtype="float32")
    function = draw(key=getkey(), dtype="float32")
    function = function._replace(x=jr.uniform(getkey(), function.x.shape, jnp.float32))
    moved = run(net, *function._replace(x=function.x + 1e3))
    assert_allclose(moved, run(net, *function), atol=3e-2, rtol=3e-2)


@every
def test_garbage_in_masked_rows(name, getkey):
    net = awake(name, key=getkey())
    clean = draw(key=getkey())
    rubbish = jnp.array([jnp.nan, jnp.inf])
    dirty = clean._replace(
        t=clean.t.at[-2:].set(rubbish),
        x=clean.x.at[-2:].set(rubbish[:, None]),
        y=clean.y.at[-2:].set(rubbish[:, None]),
    )
    out = run(net, *dirty)
    assert_allclose(out, run(net, *clean), atol=0, rtol=0)
    assert_allclose(out[-2:], 0.0, atol=0)
    for got, expected in zip(
        jax.tree.leaves(gradients(net, dirty)), jax.tree.leaves(gradients(net, clean)), strict=True
    ):
        assert_allclose(got, expected, atol=0, rtol=0)


@every
def test_padding_changes_nothing(name, getkey):
    net = awake(name, key=getkey())
    padded = draw(key=getkey())
    assert_allclose(run(net, *padded)[:5], run(net, *(v[:5] for v in padded)), atol=1e-12)


@every
@mostly64
def test_all_masked(name, dtype, getkey):
    net = awake(name, key=getkey(), dtype=dtype)
    function = draw(key=getkey(), dtype=dtype, masked=7)
    assert_allclose(run(net, *function), 0.0, atol=0)
    assert all(bool(jnp.all(leaf == 0)) for leaf in jax.tree.leaves(gradients(net, function)))


@every
@pytest.mark.parametrize(("d", "p"), [(1, 1), (1, 2), (2, 1), (3, 2)])
def test_shapes(name, d, p, getkey):
    function = draw(d=d, p=p, key=getkey())
    out = eqx.filter_eval_shape(awake(name, d=d, p=p, key=getkey()), *function)
    assert (out.shape, out.dtype) == (function.y.shape, function.y.dtype)


@every
def test_output_starts_at_zero(name, getkey):
    assert_allclose(run(fresh(name), *draw(key=getkey())), 0.0, atol=0)


@every
def test_repeated_point(name, getkey):
    net = awake(name, key=getkey())
    function = jax.tree.map(lambda value: value.at[1].set(value[0]), draw(key=getkey()))
    out = run(net, *function)
    assert_allclose(out[0], out[1], atol=1e-12)
    assert all(bool(jnp.all(jnp.isfinite(g))) for g in jax.tree.leaves(gradients(net, function)))


@every
def test_every_input_matters(name, getkey):
    net = awake(name, key=getkey())
    function = draw(key=getkey(), masked=0)
    for other in (
        function._replace(t=function.t.at[0].set(5e-4)),
        function._replace(y=function.y.at[0].add(0.1)),
        function._replace(x=function.x.at[0].add(0.1)),
        function._replace(mask=function.mask.at[0].set(0.0)),
    ):
        change = run(net, *other) - run(net, *function)
        assert float(jnp.max(jnp.abs(change[1:]))) > 1e-6


@every
def test_derivatives(name, getkey):
    net = awake(name, key=getkey())
    t, x, y, mask = draw(key=getkey())
    v, h = draw(key=getkey()).y, 1e-5

    @quick
    def jacobians(y):
        def along(e):
            return jax.jvp(lambda y: net(t, x, y, mask), (y,), (e,))[1]

        forward = jax.vmap(along, out_axes=-1)(jnp.eye(7)[:, :, None])
        return forward[:, 0], jax.jacrev(lambda y: net(t, x, y, mask))(y)[:, 0, :, 0]

    forward, reverse = jacobians(y)
    assert_allclose(forward, reverse, atol=1e-10)
    ahead, behind = (run(net, t, x, y + step * v, mask) for step in (h, -h))
    assert_allclose(forward @ v, (ahead - behind) / (2 * h), atol=1e-6, rtol=1e-6)


@every
def test_float32_parameters_follow_the_inputs(name, getkey):
    net = awake(name, key=getkey(), dtype="float32")
    wide = jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf), "float64"), net)
    function = draw(key=getkey())
    out = run(net, *function)
    assert out.dtype == jnp.float64
    assert_allclose(out, run(wide, *function), atol=1e-12)
    narrow = run(net, *(value.astype("float32") for value in function))
    assert narrow.dtype == jnp.float32
    assert_allclose(narrow, out, atol=1e-3, rtol=1e-3)


@every
def test_bfloat16_is_close_to_float32(name, getkey):
    net = awake(name, key=getkey(), dtype="float32")
    half = nets.with_config(net, compute_dtype="bfloat16")
    function = draw(key=getkey(), dtype="float32")
    out, exact = run(half, *function), run(net, *function)
    assert out.dtype == jnp.float32
    assert 0 < float(jnp.linalg.norm(out - exact) / jnp.linalg.norm(exact)) < 0.1
    with jax.numpy_dtype_promotion("standard"):  # JAX's transpose of its bfloat16 products
        grads = jax.eval_shape(gradients, half, function)
    assert all(leaf.dtype == jnp.float32 for leaf in jax.tree.leaves(grads))


@every
def test_configuration_round_trip(name):
    net = fresh(name, p=2, dtype="float32", compute_dtype="bfloat16")
    config = json.loads(json.dumps({"kind": tag_of(type(net)), **net.config.to_dict()}))
    again = nets.build(config, key=jr.key(0))
    assert bool(eqx.tree_equal(net, again))
    assert again.config == net.config


@every
def test_vmap_compiles_once(name, getkey):
    net = awake(name, key=getkey())
    traces = []

    @quick
    def batched(net, *batch):
        traces.append(None)
        return jax.vmap(net)(*batch)

    functions = [draw(key=getkey(), masked=masked) for masked in (0, 3)]
    batch = jax.tree.map(lambda *values: jnp.stack(values), *functions)
    out = batched(net, *batch)
    batched(net, *batch)
    assert len(traces) == 1
    assert_allclose(out, np.stack([run(net, *function) for function in functions]), atol=1e-12)
