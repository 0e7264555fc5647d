"""Noise levels of contexts in training: clean or of every size that is accepted."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from geomndp import noising
from geomndp.train import ContextNoiseLevels

SCHEDULE = noising.LinearSchedule(0.0, 10.0)


def test_context_times_are_zero_or_reach_every_noise_that_is_accepted():
    times = np.asarray(ContextNoiseLevels()(SCHEDULE, (4000, 3), jnp.float64, key=jr.key(0)))
    zero = (times == 0).all(1)
    assert np.all(zero == (times == 0).any(1))
    assert abs(zero.mean() - 0.5) < 5 * np.sqrt(0.25 / 4000)
    noisy = times[~zero]
    ratio = np.expm1(np.asarray(SCHEDULE.integral(jnp.asarray(noisy))))
    # Up to the noise at time 1, the largest that can be given: no gap that was never trained on.
    largest = float(jnp.expm1(SCHEDULE.integral(1.0)))
    low, high = np.log(1e-7), np.log(largest)
    assert np.log(ratio).min() >= low - 1e-6 and noisy.max() <= 1 + 1e-9
    cells, _ = np.histogram(np.log(ratio[:, 0]), bins=10, range=(low, high))
    assert cells.sum() == len(ratio)
    assert abs(cells - len(ratio) / 10).max() < 5 * np.sqrt(len(ratio) * 0.09)
    common = (noisy == noisy[:, :1]).all(1)
    assert abs(common.mean() - 0.5) < 5 * np.sqrt(0.25 / len(noisy))


@pytest.mark.parametrize("name", ["clean_share", "common_share"])
def test_bad_context_times_are_refused(name):
    with pytest.raises(ValueError, match=f"0 <= {name} <= 1, got 2"):
        ContextNoiseLevels(**{name: 2.0})
