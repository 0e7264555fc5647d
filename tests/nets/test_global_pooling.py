"""Pooling over all points: constants are kept, widths as given; functions and padding apart."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from numpy.testing import assert_allclose

from geomndp.nets.steerable_2d.gaussian_pooling import NARROWEST, WIDEST, gaussian_pooling
from geomndp.nets.steerable_2d.global_pooling import CONJUGATED, angular_features

from .helper import quick


def smoothed(x, mask, values, radius=1.0):
    """One channel a width."""
    scales = values.shape[1]
    smooth = gaussian_pooling(x, mask, radius, scales, x.dtype)[1]
    return smooth(values[:, None, :, None])[0, 0, :, :, 0]


def test_constants_stay(getkey):
    x, mask = jr.normal(getkey(), (12, 2)), jnp.ones(12)
    assert_allclose(quick(smoothed)(x, mask, jnp.full((12, 3), 2.5)), 2.5, rtol=1e-12)


def test_a_wave_is_damped_as_a_gaussian_does():
    # exp(-(k s)^2 / 2) of cos(k x) far from the ends of a fine line.
    line = np.linspace(-40, 40, 801)
    x = jnp.asarray(np.stack([line, np.zeros_like(line)], axis=1))
    wave = jnp.asarray(np.cos(0.5 * line))
    found = quick(smoothed)(x, jnp.ones(801), jnp.stack([wave, wave], axis=1))
    for scale, width in enumerate((NARROWEST, WIDEST)):
        expected = np.exp(-0.5 * (0.5 * width) ** 2)
        assert_allclose(found[400, scale], expected, rtol=1e-6)


def test_functions_and_padding_are_apart(getkey):
    x, values = jr.normal(getkey(), (9, 2)), jr.normal(getkey(), (9, 2))
    mask = jnp.asarray([1.0, 1, 1, 1, 2, 2, 2, 0, 0])
    both = quick(smoothed)(x, mask, values)
    for own in (slice(0, 4), slice(4, 7)):
        alone = quick(smoothed)(x[own], jnp.ones(len(x[own])), values[own])
        assert_allclose(both[own], alone, rtol=1e-12)
    assert bool(jnp.all(both[7:] == 0))


def test_sums_of_weights_count_points(getkey):
    """Coincident points count as many, far ones as one, padding as none; in blocks alike."""
    x = jnp.concatenate([jnp.zeros((5, 2)), jnp.full((1, 2), 1e3), jnp.zeros((2, 2))])
    mask = jnp.asarray([1.0] * 6 + [0.0] * 2)
    counts = quick(lambda x: gaussian_pooling(x, mask, 1.0, 2, x.dtype)[0])(x)
    assert_allclose(counts, np.repeat([5.0, 1.0, 0.0], [5, 1, 2])[:, None] * np.ones(2))


def test_angular_moments(getkey):
    """Averages times powers of the direction in complex numbers; each order from each."""
    x, widths = jr.normal(getkey(), (7, 2)), np.geomspace(NARROWEST, WIDEST, 2)
    f = jr.normal(getkey(), (7, 6, 2, 3))
    pool = gaussian_pooling(x, jnp.ones(7), 1.0, 2, x.dtype, angular=True)[1]
    moments = quick(lambda f: angular_features(pool(f).reshape(5, 6, 7, 6)))(f)
    found = np.asarray(moments).reshape(3, 2, 7, 4, 2, 3)
    z = np.asarray(x) @ np.array([1, 1j])
    offset, sent = z[None] - z[:, None], np.asarray(f).reshape(7, 3, 2, 2, 3)
    sent = sent[:, :, 0] + 1j * sent[:, :, 1]
    for h, width in enumerate(widths):
        weights = np.exp(-0.5 * np.abs(offset / width) ** 2)
        weights = weights / weights.sum(axis=1, keepdims=True)
        for a in range(3):
            pairs = [(sent[:, b], a - b) for b in range(3)]
            pairs.append((np.conj(sent[:, CONJUGATED[a]]), a + CONJUGATED[a]))
            for slot, (values, power) in enumerate(pairs):
                direction = offset / width if power >= 0 else np.conj(offset / width)
                expected = (weights * direction ** abs(power)) @ values[:, h]
                assert_allclose(found[a, 0, :, slot, h], expected.real, atol=1e-12)
                assert_allclose(found[a, 1, :, slot, h], expected.imag, atol=1e-12)
