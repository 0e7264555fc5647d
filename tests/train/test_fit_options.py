"""Options of a training."""

import jax
import jax.numpy as jnp
import pytest
from numpy.testing import assert_allclose

from geomndp import train

from .helper import TinyGenerator, tiny_run


def test_progress_is_shown_unless_quiet(capsys):
    tiny_run(steps=5, quiet=False)
    assert "5/5" in capsys.readouterr().out
    tiny_run(steps=5)
    assert capsys.readouterr().out == ""


def test_joint_training_is_noted_and_eps_is_passed_on():
    trained, _ = tiny_run(steps=5, generator=TinyGenerator(contexts=None), t_min=0.1)
    assert not trained.conditional
    with pytest.raises(ValueError, match="0 < t_min < 1"):
        tiny_run(steps=5, t_min=2.0)
    with pytest.raises(ValueError, match="checkpoint_every to be a whole number >= 1, got 0"):
        tiny_run(steps=5, checkpoint_every=0)


def test_weight_decay_is_apart_from_the_gradient():
    params, still = jnp.asarray([2.0, -1.0]), jnp.zeros(2)
    for decay in (0.0, 0.1):
        optimiser = train.adam(10, peak=1e-2, start=1e-2, end=1e-2, weight_decay=decay)
        with jax.numpy_dtype_promotion("standard"):
            updates, _ = optimiser.update(still, optimiser.init(params), params)
        assert_allclose(updates, -1e-2 * decay * params, rtol=1e-6)
    with pytest.raises(ValueError, match="expected weight_decay >= 0, got -1"):
        train.adam(10, weight_decay=-1.0)
