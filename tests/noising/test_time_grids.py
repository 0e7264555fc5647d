"""Time grids: increasing, pinned at both ends, in the dtype asked for."""

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.solve import LogSnrTimeGrid, PowerTimeGrid, UniformTimeGrid

from ..cases import DTYPES, GRIDS, SCHEDULES


@pytest.fixture(params=GRIDS)
def grid(request):
    return GRIDS[request.param]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("schedule", ["linear", "cosine"])
def test_increasing_and_pinned(grid, schedule, dtype):
    for steps, t_min in ((1, 5e-4), (200, 5e-4), (200, 1e-5), (200, 0.0)):
        times = grid(SCHEDULES[schedule], steps, t_min, dtype)
        assert times.shape == (steps + 1,)
        assert times.dtype == dtype
        assert times[0] == jnp.asarray(t_min, dtype)
        assert times[-1] == 1
        assert np.all(np.diff(times) > 0)


def test_float32_is_near_float64(grid):
    schedule = SCHEDULES["linear"]
    low, exact = (grid(schedule, 50, 5e-4, dtype) for dtype in (jnp.float32, jnp.float64))
    assert_allclose(low, exact, rtol=2e-4)


def test_uniform_in_the_right_variable():
    schedule, t_min = SCHEDULES["linear-low"], 5e-4
    uniform = np.linspace(0, 1, 9)

    def rescaled(values):
        return (values - values[0]) / (values[-1] - values[0])

    times = np.asarray(UniformTimeGrid()(schedule, 8, t_min, jnp.float64))
    assert_allclose(rescaled(times), uniform, atol=1e-12)
    times = np.asarray(PowerTimeGrid(4.0)(schedule, 8, t_min, jnp.float64))
    assert_allclose(rescaled(times**0.25), uniform, atol=1e-12)
    times = LogSnrTimeGrid(0.01)(schedule, 8, t_min, jnp.float64)
    ratio = np.expm1(np.asarray(schedule.integral(times)))
    assert_allclose(rescaled(np.log(ratio + 0.01)), uniform, atol=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PowerTimeGrid(0.0), "expected exponent > 0, got 0.0"),
        (lambda: LogSnrTimeGrid(-1.0), "expected floor > 0, got -1.0"),
    ],
)
def test_refused_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_refused_calls(grid):
    schedule = SCHEDULES["linear"]
    with pytest.raises(ValueError, match="expected steps to be a whole number >= 1, got 0"):
        grid(schedule, 0, 5e-4, jnp.float64)
    for t_min in (-0.1, 1.0, float("nan")):
        with pytest.raises(ValueError, match=f"expected 0 <= t_min < 1, got {t_min}"):
            grid(schedule, 4, t_min, jnp.float64)
