"""Training functions of the 1D experiments."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from geomndp.experiments.regression1d.training import make_generator


@pytest.mark.parametrize("packed", [False, True])
def test_half_of_the_batches_have_log_uniform_numbers(packed):
    """Of pairs the first; both types of batches have one shape, hence one program."""
    generator = make_generator("regression1d/se", 64 if packed else 63)
    assert generator.packed == packed

    def points(key):
        return jnp.sum(generator.draw(key).mask, axis=1, dtype=jnp.int32)

    drawn = np.asarray(jax.jit(jax.vmap(points))(jr.split(jr.key(0), 300)))
    if packed:
        assert_array_equal(drawn[:, 0::2] + drawn[:, 1::2], 61)
        drawn = drawn[:, 0::2]
    assert drawn.min() == 1 and drawn.max() == 60
    few = np.mean(drawn <= 7, axis=1)  # 7/60 of uniform numbers, log 8 / log 61 of the others
    expected = 7 / 60, np.log(8) / np.log(61)
    log_uniform = few > np.mean(expected)
    assert abs(np.mean(log_uniform) - 0.5) < 4 * 0.5 / np.sqrt(300)
    for batches, share in zip((drawn[~log_uniform], drawn[log_uniform]), expected, strict=True):
        assert abs(np.mean(batches <= 7) - share) < 5 * np.sqrt(0.25 / batches.size) + 0.01
    ones = np.mean(drawn[log_uniform] == 1)
    assert abs(ones - np.log(2) / np.log(61)) < 5 * np.sqrt(0.17 / drawn[log_uniform].size)
