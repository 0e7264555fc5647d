"""Networks that turn with their inputs, on scattered points and on regular grids."""

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
from geomndp.equivariance import random_transform
from geomndp.nets import graph
from geomndp.nets.steerable_2d import gaussian_pooling

from ..cases import largest, slow_but
from .helper import gradients, quick, run
from .steerable import STEERABLE, awake, draw, fresh

BOUNDS = {"float32": 1e-4, "float64": 1e-10}
slow = pytest.mark.slow
# Attention and space in double precision, which the tests of masks share; single as shipped.
PRECISION = {"plane-vector": "float32", "plane-attention": "float64", "space-tensor": "float64"}


def relative(found, expected):
    return float(jnp.linalg.norm(found - expected) / jnp.linalg.norm(expected))


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        pytest.param(n, dtype, marks=() if PRECISION.get(n) == dtype else slow)
        for n in STEERABLE
        for dtype in BOUNDS
    ],
)
def test_equivariance(name, dtype, getkey):
    net = awake(name, key=getkey(), dtype=dtype)
    for grid in (False, True):
        function = draw(net, key=getkey(), grid=grid, masked=2 - 2 * grid)
        dropped = eqx.filter_jit(nets.num_dropped_edges)(net, function.x, function.mask)
        assert int(dropped) == 0
        plain = run(net, *function)
        assert float(jnp.std(plain)) > 1e-4
        for reflect in (False, True):
            g = random_transform(net.field_type.dim, key=getkey(), reflect=reflect, dtype=dtype)
            x, y = g.act_on_inputs(function.x), g.act_on_outputs(function.y, net.field_type)
            moved = run(net, *function._replace(x=x, y=y))
            assert relative(moved, g.act_on_outputs(plain, net.field_type)) < BOUNDS[dtype]


@pytest.mark.parametrize("name", slow_but(("plane-attention", "space-tensor"), STEERABLE))
def test_masks_permutations_and_packing(name, getkey):
    net = awake(name, key=getkey())
    function = draw(net, key=getkey())
    plain = run(net, *function)
    order = jr.permutation(getkey(), len(function.x))
    assert_allclose(run(net, *(v[order] for v in function)), plain[order], atol=1e-11)
    assert_allclose(run(net, *(v[:-2] for v in function)), plain[:-2], atol=1e-11)
    dirty = jax.tree.map(lambda v: v.at[-1].set(jnp.nan), function)._replace(mask=function.mask)
    assert_allclose(run(net, *dirty), plain, atol=0)
    assert_allclose(plain[-2:], 0.0, atol=0)
    numbers = function.mask.at[-13:].multiply(2.0)  # two functions in one row
    both = run(net, *function._replace(mask=numbers))
    for number in (1, 2):
        alone = run(net, *function._replace(mask=(numbers == number).astype(numbers.dtype)))
        assert_allclose(both[numbers == number], alone[numbers == number], atol=1e-11)


@pytest.mark.parametrize("name", slow_but(("plane-vector", "space-tensor"), STEERABLE))
def test_output_starts_at_zero_and_config_rebuilds(name, getkey):
    shapes = eqx.filter_eval_shape(fresh, name, dtype="float32")
    config = json.loads(json.dumps({"kind": tag_of(type(shapes)), **shapes.config.to_dict()}))

    @quick
    def both():
        return fresh(name, dtype="float32"), nets.build(config, key=jr.key(0))

    net, again = both()
    assert bool(eqx.tree_equal(net, again))
    assert_allclose(run(net, *draw(net, key=getkey())), 0.0, atol=0)


@pytest.mark.parametrize("name", ["plane-attention", "space-tensor"])
def test_derivatives(name, getkey):
    net = awake(name, key=getkey())
    function = draw(net, key=getkey(), n=8)
    # A repeated place has no direction, but all derivatives.
    function = function._replace(x=function.x.at[1].set(function.x[0]))
    t, x, y, mask = function
    v = draw(net, key=getkey(), n=8).y

    @quick
    def products(y):
        slope = jax.jvp(lambda y: net(t, x, y, mask), (y,), (v,))[1]
        back = jax.vjp(lambda y: net(t, x, y, mask), y)[1](v)[0]
        steps = h * jnp.asarray([1.0, -1.0, 2.0, -2.0])
        near = jax.vmap(lambda step: net(t, x, y + step * v, mask))(steps)
        return jnp.sum(slope * v), jnp.sum(back * v), slope, near

    h = 1e-5
    forward, reverse, slope, (ahead, behind, far_ahead, far_behind) = products(y)
    assert_allclose(forward, reverse, rtol=1e-9)
    # Fourth order: third derivatives are large where an invariant is near its smallest size.
    expected = (8 * (ahead - behind) - (far_ahead - far_behind)) / (12 * h)
    assert_allclose(slope, expected, atol=1e-6, rtol=1e-6)
    assert all(bool(jnp.all(jnp.isfinite(g))) for g in jax.tree.leaves(gradients(net, function)))


@pytest.mark.parametrize("name", ["plane-vector"])
def test_shared_and_separate_inputs_agree(name, getkey):
    net = awake(name, key=getkey())
    first, second = (draw(net, key=getkey(), n=8) for _ in range(2))
    t, y = jnp.stack([first.t, second.t]), jnp.stack([first.y, second.y])

    @quick
    def both(net, t, x, y):
        def loss(net, axis, x):
            outputs = jax.vmap(net, in_axes=(0, axis, 0))(t, x, y)
            return jnp.sum(outputs**2), outputs

        shared = jax.grad(lambda net: loss(net, None, x), has_aux=True)(net)
        copies = jnp.stack([x, x])
        return shared, jax.grad(lambda net: loss(net, 0, copies), has_aux=True)(net)

    shared, separate = both(net, t, first.x, y)
    assert_allclose(shared[1][0], run(net, first.t, first.x, first.y), atol=1e-11)
    for a, b in zip(jax.tree.leaves(shared), jax.tree.leaves(separate), strict=True):
        assert_allclose(a, b, atol=1e-9)


@pytest.mark.parametrize("edges", [pytest.param(1, marks=slow), 100, pytest.param(333, marks=slow)])
@pytest.mark.parametrize("name", ["plane-angular", pytest.param("space-vector", marks=slow)])
def test_blocks_change_nothing(name, edges, getkey, monkeypatch):
    """Outputs, gradients and directional derivatives under vmap, whatever the size of a block."""
    net = awake(name, key=getkey())
    t, x, y, mask = draw(net, key=getkey(), n=16)
    values, directions = jr.normal(getkey(), (2, 3, *y.shape), y.dtype)

    def results(net):
        def one(y, v):
            out, slope = jax.jvp(lambda y: net(t, x, y, mask), (y,), (v,))
            return jnp.sum(out * slope), (out, slope)

        def loss(net):
            totals, rest = jax.vmap(lambda y, v: one(y, v))(values, directions)
            return jnp.sum(totals), rest

        return jax.grad(loss, has_aux=True)(net)

    plain = quick(lambda net: results(net))(net)
    monkeypatch.setattr(graph, "EDGES", edges)
    monkeypatch.setattr(gaussian_pooling, "PAIRS", edges)
    monkeypatch.setattr(gaussian_pooling, "BLOCK", edges)
    cut = quick(lambda net: results(net))(net)
    for a, b in zip(jax.tree.leaves(cut), jax.tree.leaves(plain), strict=True):
        assert_allclose(a, b, atol=1e-10, rtol=1e-10)


def test_extending_changes_nothing_at_first(getkey):
    net = awake("plane-vector", key=getkey())
    extended = nets.extend_network(net, num_pooling_widths=2, key=getkey())
    function = draw(net, key=getkey())
    assert len(jax.tree.leaves(extended)) > len(jax.tree.leaves(net))
    assert_allclose(run(extended, *function), run(net, *function), atol=1e-12)
    more = {"density_features": True, "angular_pooling": True}
    embedded = nets.extend_network(extended, **more, key=getkey())
    assert len(jax.tree.leaves(embedded)) == len(jax.tree.leaves(extended)) + 4 + 2
    assert_allclose(run(embedded, *function), run(net, *function), atol=1e-12)
    with pytest.raises(ValueError, match="expected changes that only add parameters"):
        nets.extend_network(net, channels=6, key=getkey())


@pytest.mark.parametrize("scales", [0, 2])
def test_memory_is_linear(scales):
    net = eqx.filter_eval_shape(fresh, "plane-vector", max_neighbours=24, num_pooling_widths=scales)
    sizes = []
    for n in (10_000, 20_000):
        x = jnp.asarray(np.random.default_rng(0).uniform(0, 0.2 * n**0.5, (n, 2)))
        sizes.append(largest(lambda net, *f: net(*f), net, jnp.zeros(n), x, x))
    assert sizes[1] < 2.2 * sizes[0] < 20_000**2 / 10


def test_memory_of_many_neighbours_is_bounded():
    """Also for few points: nothing is larger than the matrices of the edges of one block."""
    net = eqx.filter_eval_shape(fresh, "plane-vector", max_neighbours=256)
    x = jnp.asarray(np.random.default_rng(0).uniform(0, 1, (1000, 2)))
    bound = graph.EDGES * 36 * net.config.channels
    assert largest(lambda net, *f: net(*f), net, jnp.zeros(1000), x, x) <= bound
    assert 1000 * net.config.max_neighbours * 36 * net.config.channels > 3 * bound


def test_side_information_is_seen_and_softens(getkey):
    net = awake("plane-side", key=getkey())
    function = draw(net, key=getkey())
    other = function._replace(x=function.x.at[:, 2].add(1.0))
    assert relative(run(net, *other), run(net, *function)) > 1e-3


def test_bfloat16_is_near(getkey):
    net = awake("plane-vector", key=getkey(), dtype="float32")
    half = nets.with_config(net, compute_dtype="bfloat16")
    function = draw(net, key=getkey())
    out, exact = run(half, *function), run(net, *function)
    assert out.dtype == jnp.float32
    assert 0 < relative(out, exact) < 0.1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda key: nets.Steerable2(("spinor",), key=key), "expected representation to be one of"),
        (lambda key: nets.Steerable2(radius=0.0, key=key), "expected radius > 0"),
        (lambda key: nets.Steerable2(num_heads=5, key=key), "expected channels divisible by"),
        (
            lambda key: nets.Steerable2(num_pooling_widths=5, key=key),
            "expected channels divisible by",
        ),
        (lambda key: nets.Steerable2(density_features=True, key=key), "expected num_pooling_width"),
        (lambda key: nets.Steerable2(max_neighbours=0, key=key), "expected max_neighbours"),
        (lambda key: nets.Steerable3(space=4, key=key), "expected space to be one of 2, 3"),
        (
            lambda key: nets.Steerable3(("tensor",), space=2, key=key),
            "expected scalars and vectors in an embedded plane",
        ),
    ],
)
def test_refusals(make, message):
    with pytest.raises(ValueError, match=message):
        make(jr.key(0))
