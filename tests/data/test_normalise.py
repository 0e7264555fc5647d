"""Units: a round trip changes nothing, densities change by the Jacobian."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp._types import Batch
from geomndp.data import Normaliser


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_round_trip(dtype, getkey):
    units = Normaliser(x_shift=[1.0, -2.0], x_scale=3.0, y_shift=[5.0, 6.0], y_scale=[0.5, 4.0])
    x, y = jr.normal(getkey(), (7, 2), dtype), jr.normal(getkey(), (7, 2), dtype)
    rtol = 1e-5 if dtype == jnp.float32 else 1e-13
    for forward, inverse, v in [
        (units.forward_x, units.inverse_x, x),
        (units.forward_y, units.inverse_y, y),
    ]:
        assert forward(v).dtype == dtype
        assert_allclose(inverse(forward(v)), v, rtol=rtol, atol=rtol)
        assert_allclose(forward(inverse(v)), v, rtol=rtol, atol=rtol)


def test_inverse_takes_many_samples(getkey):
    units = Normaliser(y_shift=[5.0, 6.0], y_scale=2.0)
    y = jr.normal(getkey(), (3, 7, 2))
    assert_allclose(units.inverse_y(y)[1], units.inverse_y(y[1]))


def test_fit_standardises_the_real_points(getkey):
    x, y = 4 + 3 * jr.normal(getkey(), (5, 9, 2)), 1 + 2 * jr.normal(getkey(), (5, 9, 2))
    mask = (jr.uniform(getkey(), (5, 9)) < 0.7).astype(x.dtype)
    junk = jnp.where(mask[:, :, None] > 0, y, jnp.nan)
    units = Normaliser.fit(Batch(x, junk, mask, jnp.zeros_like(mask)))
    real = np.asarray(mask) > 0
    for v in (jax.vmap(units.forward_x)(x), jax.vmap(units.forward_y)(y)):
        v = np.asarray(v)[real]
        assert_allclose(v.mean(0), 0, atol=1e-12)
        assert_allclose(np.mean(v**2), 1, rtol=1e-12)


def test_constant_data_keep_their_scale():
    ones = jnp.ones((1, 3, 1))
    units = Normaliser.fit(Batch(ones, ones, ones[:, :, 0], 0 * ones[:, :, 0]))
    assert units == Normaliser(x_shift=1.0, y_shift=1.0)


@pytest.mark.parametrize("count", [3, 160])
def test_rounding_of_a_mean_is_no_scale(count):
    """The mean of many 0.1 is another number."""
    tenths = np.full((1, count, 1), 0.1)
    units = Normaliser.fit(Batch(tenths, tenths, np.ones((1, count)), np.zeros((1, count))))
    assert units == Normaliser(x_shift=0.1, y_shift=0.1)


@pytest.mark.parametrize("scale", [3.0, [2.0, 5.0]])
def test_log_jacobian(scale, getkey):
    units = Normaliser(y_shift=1.0, y_scale=scale)
    y = jr.normal(getkey(), (4, 2))
    mask = jnp.asarray([1.0, 1, 1, 0])
    jacobian = jax.jacobian(units.forward_y)(y).reshape(8, 8)
    assert_allclose(units.log_jacobian(y), np.linalg.slogdet(jacobian)[1])
    assert_allclose(units.log_jacobian(y, mask), 0.75 * np.linalg.slogdet(jacobian)[1])


def test_noise_is_a_variance():
    assert Normaliser(y_scale=2.0).forward_noise(1.0) == 0.25
    with pytest.raises(ValueError, match="one y_scale"):
        Normaliser(y_scale=[1.0, 2.0]).forward_noise(1.0)


def test_bad_units_are_refused():
    with pytest.raises(ValueError, match="y_scale > 0"):
        Normaliser(y_scale=0.0)
    with pytest.raises(ValueError, match="finite x_shift"):
        Normaliser(x_shift=np.nan)
    with pytest.raises(ValueError, match=r"2 coordinates per point, got shape \(4, 3\)"):
        Normaliser(x_scale=[1.0, 2.0]).forward_x(jnp.zeros((4, 3)))
    empty = Batch(jnp.zeros((1, 2, 1)), jnp.zeros((1, 2, 1)), jnp.zeros((1, 2)), jnp.zeros((1, 2)))
    with pytest.raises(ValueError, match="at least one real point"):
        Normaliser.fit(empty)
    with pytest.raises(ValueError, match="finite y, got NaN or infinity in rows 0"):
        Normaliser.fit(empty._replace(y=jnp.full((1, 2, 1), jnp.nan), mask=jnp.ones((1, 2))))


def test_missing_outputs_do_not_count(getkey):
    y = jr.normal(getkey(), (4, 6, 2)) + jnp.asarray([[[3.0, -1.0]]])
    mask = jr.bernoulli(getkey(), 0.5, y.shape).astype(y.dtype).at[0, 0].set(1.0)
    x = jr.normal(getkey(), (4, 6, 1))
    wild = jnp.where(mask > 0, y, jnp.nan)
    units = Normaliser.fit(Batch(x, wild, mask, jnp.zeros_like(mask)))
    expected = np.nanmean(np.asarray(wild), axis=(0, 1))
    assert_allclose(units.y_shift, expected)
    assert_allclose(units.y_scale, np.sqrt(np.nanmean((np.asarray(wild) - expected) ** 2)))
    counted = units.log_jacobian(y[0], mask[0])
    assert_allclose(counted, -np.log(units.y_scale[0]) * np.sum(mask[0]))
    variances = Normaliser(y_scale=(2.0, 5.0)).forward_noise(jnp.ones((3, 2)))
    assert_allclose(variances, np.broadcast_to([0.25, 0.04], (3, 2)))
