"""The network on the sphere: what it turns with, and what it does not see."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp import nets
from geomndp.nets.spherical_attention import LocalFrames

from ..cases import random
from .helper import gradients, run

SIZES = {"width": 16, "num_layers": 2, "num_heads": 2, "expansion": 2, "bias_width": 8}


def awake(key, **options):
    """All parameters drawn at random, so that the zero-initialised head says something."""
    rng = random(key)

    def fill(leaf):
        return jnp.asarray(0.3 * rng.standard_normal(leaf.shape), leaf.dtype)

    shapes = eqx.filter_eval_shape(nets.SphericalAttention, **SIZES, **options, key=jr.key(0))
    return jax.tree.map(fill, shapes)


def track(key, n=12, dtype="float64"):
    rng = random(key)
    x, y = rng.uniform(0.0, 6.0, (n, 1)), [0.3, 0.5, 0.4] + 0.1 * rng.standard_normal((n, 3))
    y = y / np.linalg.norm(y, axis=1, keepdims=True)
    return tuple(jnp.asarray(v, dtype) for v in (rng.uniform(size=n), x, y))


def turn(angle, dtype="float64"):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]], dtype)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-4), ("float64", 1e-10)])
def test_output_turns_with_the_axis_and_is_tangent(dtype, tolerance, getkey):
    net = awake(getkey(), dtype=dtype)
    t, x, y = track(getkey(), dtype=dtype)
    rotation = turn(2.1, dtype)
    out, turned = run(net, t, x, y), run(net, t, x + 3.0, y @ rotation.T)
    assert_allclose(turned, out @ rotation.T, atol=tolerance * float(jnp.abs(out).max()))
    assert_allclose(jnp.sum(out * y, axis=1), 0.0, atol=tolerance)
    assert float(jnp.abs(out).max()) > 0.01


def test_absolute_features_see_longitude_and_age(getkey):
    net = awake(getkey(), absolute_min_wavelength=0.5)
    t, x, y = track(getkey())
    rotation = turn(0.4)
    out = run(net, t, x, y)
    assert float(jnp.abs(run(net, t, x, y @ rotation.T) - out @ rotation.T).max()) > 1e-3
    assert float(jnp.abs(run(net, t, x + 1.0, y) - out).max()) > 1e-3


def test_a_unit_of_length_is_the_hypotenuse_of_noise_and_resolution(getkey):
    """Noise of 3 and a resolution of 4 look like noise of 5 and no resolution to speak of."""
    t, x, y = track(getkey())
    sizes = {"noise_rate": 3.0, "resolution": 4.0}
    net = awake(key := getkey(), **sizes)
    same = awake(key, noise_rate=5.0, resolution=1e-9)
    ones = jnp.ones_like(t)
    assert_allclose(run(net, ones, x, y), run(same, ones, x, y), atol=1e-12)


def test_order_and_masked_points_do_not_matter(getkey):
    net = awake(getkey())
    t, x, y = track(getkey())
    out = run(net, t, x, y)
    order = jr.permutation(getkey(), len(x))
    assert_allclose(run(net, t[order], x[order], y[order]), out[order], atol=1e-12)
    padded = [jnp.concatenate([v, jnp.full((3, *v.shape[1:]), jnp.nan)]) for v in (t, x, y)]
    mask = (jnp.arange(len(x) + 3) < len(x)).astype(x.dtype)
    assert_allclose(run(net, *padded, mask)[: len(x)], out, atol=1e-12)
    for leaf in jax.tree.leaves(gradients(net, (*padded, mask))):
        assert bool(jnp.all(jnp.isfinite(leaf)))


def test_functions_that_share_a_row_do_not_see_each_other(getkey):
    net = awake(getkey())
    row, mask = track(getkey(), n=15), jnp.asarray([1.0] * 8 + [2.0] * 7)
    together = run(net, *row, mask)
    for number in (1, 2):
        alone = run(net, *row, (mask == number).astype(mask.dtype))
        assert_allclose(together[mask == number], alone[mask == number], atol=1e-12)


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
        nets.SphericalAttention(1, 2, key=getkey())
    with pytest.raises(ValueError, match="expected a width divisible"):
        nets.SphericalAttention(width=10, num_heads=4, key=getkey())
    config = awake(getkey(), absolute_min_wavelength=0.5).config.to_dict()
    config["kind"] = "net/track-attention"
    built = eqx.filter_eval_shape(nets.build, config, key=getkey())
    assert built.config.absolute_min_wavelength == 0.5
