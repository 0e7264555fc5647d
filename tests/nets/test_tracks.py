"""The network on the sphere: what it turns with, and what it does not see."""

import jax
import jax.numpy as jnp
import jax.random as jr
import pytest
from numpy.testing import assert_allclose

from geomndp import nets
from geomndp.geometry import Sphere
from geomndp.nets.tracks import LocalFrames

SIZES = {"width": 16, "num_layers": 2, "num_heads": 2, "expansion": 2, "bias_width": 8}


def awake(key, **options):
    """A network whose zero-initialised head has been filled."""
    net = nets.TrackAttention(**SIZES, **options, key=key)
    leaves, tree = jax.tree.flatten(net)
    keys = jr.split(key, len(leaves))
    return jax.tree.unflatten(
        tree, [v + 0.2 * jr.normal(k, v.shape, v.dtype) for v, k in zip(leaves, keys, strict=True)]
    )


def track(key, n=12, dtype="float64"):
    x_key, y_key, t_key = jr.split(key, 3)
    x = jr.uniform(x_key, (n, 1), dtype, 0.0, 6.0)
    middle = jnp.array([0.3, 0.5, 0.4], dtype)
    y = Sphere(2).onto(middle[None] + 0.1 * jr.normal(y_key, (n, 3), dtype))
    return jr.uniform(t_key, (n,), dtype), x, y


def turn(angle, dtype="float64"):
    c, s = jnp.cos(angle), jnp.sin(angle)
    return jnp.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]], dtype)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-4), ("float64", 1e-10)])
def test_output_turns_with_the_axis_and_is_tangent(dtype, tolerance, getkey):
    net = awake(getkey(), dtype=dtype)
    t, x, y = track(getkey(), dtype=dtype)
    rotation = turn(2.1, dtype)
    out, turned = net(t, x, y), net(t, x + 3.0, y @ rotation.T)
    assert_allclose(turned, out @ rotation.T, atol=tolerance * float(jnp.abs(out).max()))
    assert_allclose(jnp.sum(out * y, axis=1), 0.0, atol=tolerance)
    assert float(jnp.abs(out).max()) > 0.01


def test_absolute_features_see_longitude_and_age(getkey):
    net = awake(getkey(), absolute=0.5)
    t, x, y = track(getkey())
    rotation = turn(0.4)
    assert float(jnp.abs(net(t, x, y @ rotation.T) - net(t, x, y) @ rotation.T).max()) > 1e-3
    assert float(jnp.abs(net(t, x + 1.0, y) - net(t, x, y)).max()) > 1e-3


def test_order_and_masked_points_do_not_matter(getkey):
    net = awake(getkey())
    t, x, y = track(getkey())
    out = net(t, x, y)
    order = jr.permutation(getkey(), len(x))
    assert_allclose(net(t[order], x[order], y[order]), out[order], atol=1e-12)
    padded = [jnp.concatenate([v, jnp.full((3, *v.shape[1:]), jnp.nan)]) for v in (t, x, y)]
    mask = (jnp.arange(len(x) + 3) < len(x)).astype(x.dtype)
    assert_allclose(net(*padded, mask)[: len(x)], out, atol=1e-12)
    gradient = jax.grad(lambda y: jnp.sum(net(padded[0], padded[1], y, mask) ** 2))(padded[2])
    assert bool(jnp.all(jnp.isfinite(gradient[: len(x)])))


def test_functions_that_share_a_row_do_not_see_each_other(getkey):
    net = awake(getkey())
    first, second = track(getkey()), track(getkey(), n=7)
    row = [jnp.concatenate(pair) for pair in zip(first, second, strict=True)]
    mask = jnp.concatenate([jnp.ones(12), 2 * jnp.ones(7)])
    together = net(*row, mask)
    assert_allclose(together[:12], net(*first), atol=1e-12)
    assert_allclose(together[12:], net(*second), atol=1e-12)


def test_frames_point_east_and_north_and_keep_short_lengths(getkey):
    y = jnp.array([[1.0, 0.0, 0.0], [0.0, 0.6, 0.8]])
    frames = LocalFrames(y, jnp.ones(2))
    assert_allclose(frames.axes[0], [[0, 1, 0], [0, 0, 1], [1, 0, 0]], atol=1e-9)
    assert_allclose(frames.axes[1], [[-1, 0, 0], [0, -0.8, 0.6], [0, 0.6, 0.8]], atol=1e-9)
    near = y + 1e-6 * frames.axes[:, 0]
    assert_allclose(frames.local(near[:, None]), [[1e-6, 0, 0]] * 2, atol=1e-9)
    poles = LocalFrames(jnp.array([[0.0, 0.0, 1.0]]), jnp.ones(1))
    assert bool(jnp.all(jnp.isfinite(poles.axes)))


def test_bad_options_are_refused(getkey):
    with pytest.raises(ValueError, match="expected output_dim to be one of 3, got 2"):
        nets.TrackAttention(1, 2, key=getkey())
    with pytest.raises(ValueError, match="expected a width divisible"):
        nets.TrackAttention(width=10, num_heads=4, key=getkey())
    built = nets.build(awake(getkey(), absolute=0.5).config(), key=getkey())
    assert built.config()["absolute"] == 0.5
