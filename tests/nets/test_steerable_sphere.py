"""The network on the sphere: rotations, reflections and frames; poles, antipodes; the plane."""

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
from geomndp.geometry import Sphere
from geomndp.geometry.geodesy import east_and_north
from geomndp.nets import graph
from geomndp.nets.steerable_2d import gaussian_pooling
from geomndp.nets.steerable_sphere.pairs import FramedPoints, all_pairs

from ..cases import random, slow_but
from .helper import gradients, quick, randomised, run

FULL = {
    "representations": ("vector", "scalar", "pseudoscalar", "symmetric"),
    "channels": 4,
    "width": 8,
    "num_layers": 2,
    "num_radial": 4,
    "radius": 0.9,
    "num_pooling_widths": 2,
    "angular_pooling": True,
    "density_features": True,
    "num_invariant_inputs": 1,
}
WIND = {k: FULL[k] for k in ("channels", "width", "num_radial", "radius")} | {"num_layers": 1}
BOUNDS = {"float32": 1e-4, "float64": 1e-10}
num_dropped_edges = quick(nets.num_dropped_edges)
POLES = np.array([[0.0, 0, 1], [0, 0, -1]])


def awake(make=nets.SteerableSphere, *, key, **options):
    """All parameters drawn at random, so that the zero-initialised output says something."""
    shapes = eqx.filter_eval_shape(make, **options, key=jr.key(0))
    return randomised(shapes, key=key)


def sphere_points(key, n):
    """Random points, with both poles, a pair of coincident points and a pair of antipodes."""
    x = random(key).standard_normal((n, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    x[:2], x[3], x[5] = POLES, x[2], -x[4]
    return x


def draw(net, *, key, n=24, masked=2):
    rng = random(key)
    more = rng.standard_normal((n, net.input_dim - 3))
    x = np.concatenate([sphere_points(key, n), more], axis=1)
    t, y = np.append(0.0, rng.uniform(size=n - 1)), rng.standard_normal((n, net.output_dim))
    mask = np.arange(n) < n - masked
    return tuple(jnp.asarray(value, net.config.dtype) for value in (t, x, y, mask))


@quick
def in_other_frames(field_type, matrices, y):
    """Values after an orthogonal 2 x 2 matrix of each point."""
    return jnp.einsum("npq,nq->np", jax.vmap(field_type.action)(matrices), y)


def turned(net, matrix, x, y):
    """Points and values after an orthogonal map of R^3, in the frames east and north there."""
    x, matrix = np.asarray(x), np.asarray(matrix)
    moved = np.concatenate([x[:, :3] @ matrix.T, x[:, 3:]], axis=1)
    before, after = east_and_north(x[:, :3]), east_and_north(moved[:, :3])
    frames = np.einsum("nac,cd,nbd->nab", after, matrix, before)
    return jnp.asarray(moved), in_other_frames(net.field_type, jnp.asarray(frames), y)


def relative(found, expected):
    found, expected = np.asarray(found), np.asarray(expected)
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


def rotation_error(net, matrix, function):
    t, x, y, mask = function
    moved_x, moved_y = turned(net, matrix, x, y)
    expected = turned(net, matrix, x, run(net, *function))[1]
    return relative(run(net, t, moved_x, moved_y, mask), expected)


@pytest.mark.parametrize("dtype", slow_but(("float64",), BOUNDS))
def test_rotations_and_reflections(dtype, getkey):
    net = awake(key=getkey(), **FULL, dtype=dtype)
    function = draw(net, key=getkey())
    assert int(num_dropped_edges(net, function[1], function[3])) == 0
    assert float(jnp.std(run(net, *function))) > 1e-4
    for reflect in (False, True):
        matrix = random_transform(3, key=getkey(), reflect=reflect, dtype=dtype).matrix
        assert rotation_error(net, matrix, function) < BOUNDS[dtype]
    # A pole goes to a pole, whose frame is turned in its plane.
    quarter = jnp.asarray([[0, -1, 0], [1, 0, 0], [0, 0, -1]], dtype)
    assert rotation_error(net, quarter, function) < BOUNDS[dtype]


def test_nothing_depends_on_frames(getkey):
    net = awake(key=getkey(), **FULL, dtype="float64")
    t, x, y, mask = draw(net, key=getkey())
    angle = random(getkey()).uniform(0, 2 * np.pi, len(x))
    cosine, sine = np.cos(angle), np.sin(angle)
    turn = np.stack([np.stack([cosine, -sine], 1), np.stack([sine, cosine], 1)], 1)
    frames = jnp.asarray(np.einsum("nab,nbc->nac", turn, east_and_north(np.asarray(x[:, :3]))))
    turn = jnp.asarray(turn)

    @quick
    def in_frames(net, frames, y):
        y = y * mask[:, None]
        surface = net._surface_in(frames, x * mask[:, None], mask)
        return net.call_prepared(net._prepared(surface, mask, y.dtype), t, x, y, mask)

    found = in_frames(net, frames, in_other_frames(net.field_type, turn, y))
    expected = in_other_frames(net.field_type, turn, run(net, t, x, y, mask))
    assert relative(found, expected) < BOUNDS["float64"]


def test_degenerate_points_have_finite_gradients(getkey):
    """Poles, coincident points and antipodes are in `draw`; rows of NaN are masked."""
    net = awake(key=getkey(), **FULL, dtype="float64")
    t, x, y, mask = draw(net, key=getkey())
    plain = run(net, t, x, y, mask)
    hidden = jnp.where(mask[:, None] > 0, 0.0, jnp.nan)
    broken = (t, x + hidden, y + hidden, mask)
    assert_allclose(run(net, *broken), plain, atol=1e-14)
    assert bool(jnp.all(plain[-2:] == 0))
    for leaf in jax.tree.leaves(gradients(net, broken)):
        assert bool(jnp.all(jnp.isfinite(leaf)))


def test_functions_may_share_a_call(getkey):
    net = awake(key=getkey(), **FULL, dtype="float64")
    first, second = (draw(net, key=getkey(), n=12, masked=0) for _ in range(2))
    both = [jnp.concatenate(parts) for parts in zip(first, second, strict=True)]
    both[3] = jnp.repeat(jnp.asarray([1.0, 2.0]), 12)
    alone = [run(net, *[jnp.concatenate([a, a]) for a in f[:3]], both[3]) for f in (first, second)]
    found = run(net, *both)
    assert_allclose(found[:12], alone[0][:12], atol=1e-11)
    assert_allclose(found[12:], alone[1][:12], atol=1e-11)


def test_pairs(getkey):
    """Against the logarithm map of the manifold, and rotation about the normal of the geodesic."""
    x = sphere_points(getkey(), 9)
    frames = east_and_north(x)
    points = FramedPoints(jnp.asarray(x), jnp.asarray(frames))
    pairs = quick(all_pairs)(points, points)
    logs = np.asarray(
        quick(jax.vmap(lambda a: jax.vmap(lambda b: Sphere(2).log(a, b))(points.x)))(points.x)
    )
    for i in range(9):
        for j in range(9):
            cosine = float(x[i] @ x[j])
            if cosine < -1 + 1e-9:
                assert_allclose(pairs.factor[i, j], 0.0, atol=1e-20)
                continue
            assert_allclose(pairs.offset[i, j], frames[i] @ logs[i, j], atol=1e-12)
            normal = np.cross(x[j], x[i])  # rotation takes x_j to x_i: Rodrigues' formula
            cross = np.cross(np.eye(3), normal)
            matrix = np.eye(3) + cross + cross @ cross / (1 + cosine)
            assert_allclose(matrix @ x[j], x[i], atol=1e-12)
            block = frames[i] @ matrix @ frames[j].T
            assert_allclose(pairs.transport[i, j], [block[0, 0], block[1, 0]], atol=1e-12)
            assert_allclose(block[0], [block[1, 1], -block[1, 0]], atol=1e-12)


def test_small_angles_have_no_seam():
    """theta / sin(theta) by its series and by arctangents, around the angle where they meet."""
    angle = jnp.asarray([1e-9, 1e-4, 0.06324, 0.06325, 0.06326, 0.1, 3.0])
    x = jnp.stack([jnp.cos(angle), jnp.sin(angle), jnp.zeros_like(angle)], axis=1)
    origin = jnp.asarray([[1.0, 0, 0]])
    points = (FramedPoints(v, east_and_north(v)) for v in (origin, x))
    offset = quick(all_pairs)(*points).offset[0]
    assert_allclose(offset[:, 0], angle, rtol=1e-13)
    assert_allclose(offset[:, 1], 0.0, atol=1e-14)


def test_on_a_small_piece_it_is_the_planar_network(getkey):
    """Same parameters, points of the plane by the exponential map: errors of second order."""
    options = {k: v for k, v in FULL.items() if k != "num_invariant_inputs"} | {"num_layers": 1}
    plane = awake(nets.Steerable2, key=getkey(), **options, dtype="float64")
    p = jnp.asarray(random(getkey()).uniform(-1, 1, (16, 2)))
    t, y = jr.uniform(getkey(), (16,)), jr.normal(getkey(), (16, plane.output_dim))
    expected, errors = run(plane, t, p, y, jnp.ones(16)), []
    for size in (1e-2, 1e-3):
        sphere = nets.SteerableSphere(
            **options | {"radius": size * FULL["radius"]}, dtype="float64", key=jr.key(0)
        )
        leaves = jax.tree.leaves(plane)
        sphere = jax.tree.unflatten(jax.tree.structure(sphere), leaves)
        v = jnp.concatenate([jnp.zeros((16, 1)), size * p], axis=1)
        x = Sphere(2).exp(jnp.tile(jnp.asarray([[1.0, 0, 0]]), (16, 1)), v)
        errors.append(relative(run(sphere, t, x, y, jnp.ones(16)), expected))
    assert errors[0] < 1e-3
    assert errors[1] < 0.02 * errors[0]


def test_the_axis_leaves_its_rotations_and_the_mirror(getkey):
    net = awake(key=getkey(), **WIND, axial=True, dtype="float64")
    function = draw(net, key=getkey())
    c, s = np.cos(0.7), np.sin(0.7)
    kept = ([[c, -s, 0], [s, c, 0], [0, 0, 1]], np.diag([1.0, 1, -1]))
    for matrix in kept:
        assert rotation_error(net, jnp.asarray(matrix), function) < 1e-10
    broken = (np.diag([1.0, -1, 1]), [[1, 0, 0], [0, c, -s], [0, s, c]])
    for matrix in broken:
        assert rotation_error(net, jnp.asarray(matrix), function) > 1e-3


def test_room_is_counted_by_the_chord(getkey):
    net = nets.SteerableSphere(**WIND, max_neighbours=1, dtype="float64", key=jr.key(0))
    x = jnp.asarray(sphere_points(getkey(), 200))
    larger = nets.with_capacity(net, np.asarray(x))
    angles = np.arccos(np.clip(np.asarray(x @ x.T), -1, 1))
    most = np.max(np.sum(angles < net.config.radius, axis=1)) - 1
    assert larger.config.max_neighbours >= most
    assert int(num_dropped_edges(larger, x)) == 0
    with pytest.raises(ValueError, match="expected unit vectors as inputs on the sphere, got"):
        nets.with_capacity(net, 2 * np.asarray(x))


def test_wrong_configurations_are_refused():
    for options, message in (
        ({"radius": 3.2}, "at most pi"),
        ({"periods": (1.0, 0.0, 0.0)}, "not of a location"),
        ({"angular_pooling": True}, "num_pooling_widths"),
        ({"representations": ("spinor",)}, "representation"),
    ):
        with pytest.raises(ValueError, match=message):
            nets.SteerableSphere(**WIND | options, key=jr.key(0))
    net = nets.SteerableSphere(**WIND, key=jr.key(0))
    with pytest.raises(ValueError, match="x"):
        net(jnp.asarray(0.5), jnp.ones((4, 2)), jnp.ones((4, 2)))


def test_a_configuration_makes_the_network_again():
    net = nets.SteerableSphere(**FULL, axial=True, key=jr.key(0))
    again = nets.build({"kind": tag_of(type(net)), **net.config.to_dict()}, key=jr.key(0))
    assert eqx.tree_equal(net, again)


@pytest.mark.slow
def test_chunks_change_nothing(getkey, monkeypatch):
    net = awake(key=getkey(), **FULL, dtype="float64")
    function = draw(net, key=getkey(), n=32)

    def results(net):
        return jax.value_and_grad(lambda net: jnp.sum(net(*function) ** 2))(net)

    plain = quick(lambda net: results(net))(net)
    monkeypatch.setattr(graph, "EDGES", 64)
    monkeypatch.setattr(gaussian_pooling, "PAIRS", 64)
    monkeypatch.setattr(gaussian_pooling, "BLOCK", 64)
    cut = quick(lambda net: results(net))(net)
    for a, b in zip(jax.tree.leaves(cut), jax.tree.leaves(plain), strict=True):
        assert_allclose(a, b, atol=1e-9, rtol=1e-9)
