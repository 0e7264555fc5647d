"""Schedules: rate, integral and inverse belong together."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
from numpy.testing import assert_allclose

from geomndp.noising import CosineSchedule, LinearSchedule

from ..cases import DTYPES, SCHEDULES

TIMES = jnp.linspace(0.0, 1.0, 11)


@pytest.fixture(params=SCHEDULES)
def schedule(request):
    return SCHEDULES[request.param]


def test_integral_is_that_of_the_rate(schedule):
    for t in np.linspace(0.1, 1.0, 4):
        area, _ = scipy.integrate.quad(lambda s: float(schedule.beta(jnp.asarray(s))), 0, t)
        assert_allclose(schedule.integral(jnp.asarray(t)), area, rtol=1e-8)
    slope = jax.vmap(jax.grad(schedule.integral))(TIMES)
    assert_allclose(slope, schedule.beta(TIMES), rtol=1e-10, atol=1e-12)


def test_starts_at_zero_and_grows(schedule):
    values = schedule.integral(TIMES)
    assert values[0] == 0
    assert jnp.all(jnp.diff(values) > 0)
    assert jnp.all(schedule.beta(TIMES) >= 0)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_inverse(schedule, dtype):
    t = jnp.concatenate([jnp.asarray([0.0, 1e-6, 1e-4], dtype=dtype), TIMES.astype(dtype)])
    back = jax.jit(lambda t: schedule.inverse(schedule.integral(t)))(t)
    assert back.dtype == dtype
    assert_allclose(back, t, rtol=1e-12 if dtype == jnp.float64 else 5e-6)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_dtype_and_shape_follow(schedule, dtype, shape):
    for method in (schedule.beta, schedule.integral, schedule.inverse):
        value = jax.eval_shape(method, jax.ShapeDtypeStruct(shape, dtype))
        assert (value.dtype, value.shape) == (dtype, shape)


def test_float32_is_near_float64_at_both_ends(schedule):
    t = jnp.asarray([1e-6, 1e-4, 1e-2, 0.5, 0.9, 0.99, 1.0])
    integral = jax.jit(schedule.integral)
    # Near t = 1 the cosine schedule multiplies the rounding of t itself by beta.
    assert_allclose(integral(t.astype(jnp.float32)), integral(t), rtol=1e-5)


def test_linear_total():
    assert_allclose(LinearSchedule(2.0, 4.0).integral(jnp.asarray(1.0)), 3.0)


@pytest.mark.parametrize("total", [0.1, 3.0, 10.0, 25.0])
def test_cosine_total(total):
    schedule = CosineSchedule(total)
    assert_allclose(schedule.integral(jnp.asarray(1.0)), total, rtol=1e-9)
    a = jnp.exp(-0.5 * schedule.integral(TIMES))
    omega = np.arccos(np.exp(-total / 2))
    expected = np.cos(omega * np.asarray(TIMES))
    assert_allclose(a, expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LinearSchedule(-1.0, 2.0), "expected 0 <= beta0 < beta1, got -1.0 and 2.0"),
        (lambda: LinearSchedule(2.0, 2.0), "expected 0 <= beta0 < beta1, got 2.0 and 2.0"),
        (lambda: LinearSchedule(0.0, np.inf), "expected 0 <= beta0 < beta1, got 0.0 and inf"),
        (lambda: LinearSchedule(0.0, np.nan), "expected 0 <= beta0 < beta1, got 0.0 and nan"),
        (lambda: CosineSchedule(0.0), "expected total > 0, got 0.0"),
    ],
)
def test_refusals(make, message):
    with pytest.raises(ValueError, match=message):
        make()
