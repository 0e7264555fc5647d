"""Random times: stratified over a batch, as dense as a time grid."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from geomndp import noising, solve
from geomndp.solve import stratified_uniform, times_from_uniform

SCHEDULE = noising.LinearSchedule(0.0, 10.0)


def test_stratified_times_fill_every_cell(getkey):
    key = getkey()
    u = np.asarray(stratified_uniform(64, jnp.float64, key=key))
    assert u.min() >= 0 and u.max() < 1
    shift = float(jr.uniform(jr.split(key)[1], (), jnp.float64))
    cells = np.floor(((u - shift) % 1) * 64 * (1 + 1e-12)).astype(int)
    assert_array_equal(np.sort(cells), np.arange(64))


def test_each_stratified_time_is_uniform():
    u = jax.vmap(lambda key: stratified_uniform(4, jnp.float64, key=key))(jr.split(jr.key(0), 5000))
    assert_allclose(np.asarray(u).mean(0), 0.5, atol=5 * np.sqrt(1 / 12 / 5000))
    assert_allclose(np.asarray(u).var(0), 1 / 12, atol=0.006)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
@pytest.mark.parametrize(
    "grid", [solve.UniformTimeGrid(), solve.PowerTimeGrid(3.0), solve.LogSnrTimeGrid()], ids=repr
)
def test_times_lie_as_dense_as_the_grid(grid, dtype):
    knots = grid(SCHEDULE, 32, 5e-4, dtype)
    t = times_from_uniform(jnp.arange(33, dtype=dtype) / 32, grid, SCHEDULE, 5e-4)
    assert t.dtype == dtype
    assert_allclose(t, knots, rtol=1e-4)
    inside = times_from_uniform(jr.uniform(jr.key(0), (1000,), dtype), grid, SCHEDULE, 5e-4)
    assert float(inside.min()) >= 5e-4 and float(inside.max()) <= 1
