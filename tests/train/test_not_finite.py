"""A loss or gradient that is not finite ends a training, which says where."""

import jax.numpy as jnp
import jax.random as jr
import pytest

from geomndp import train
from geomndp._types import Batch

from .helper import NOISING, TinyGenerator, tiny_run


class Spoilt(TinyGenerator):
    """From one step on, one function of the batch holds a NaN."""

    def draw(self, key):
        batch = super().draw(key)
        bad = jr.uniform(key) < 0.2
        y = batch.y.at[3, 0, 0].set(jnp.where(bad, jnp.nan, batch.y[3, 0, 0]))
        return Batch(batch.x, y, batch.mask, jnp.zeros_like(batch.mask))


def first_bad(key, generator):
    """Step and time of the first bad function, found without training."""
    for step in range(40):
        data_key, loss_key = jr.split(jr.fold_in(key, step))
        batch = generator.draw(data_key)
        if bool(jnp.isnan(batch.y).any()):
            time_key, _ = jr.split(loss_key)
            t, _ = train.DenoisingLoss().draw_times(NOISING, batch, key=time_key)
            return step + 1, float(t[3])
    raise AssertionError("no bad step: choose another key")


def test_nan_stops_the_run_and_says_where(tmp_path):
    generator, key = Spoilt(), jr.key(11)
    step, time = first_bad(key, generator)
    with pytest.raises(train.TrainingDiverged) as caught:
        tiny_run(tmp_path, generator=generator, key=key, chunk=1, checkpoint_every=1)
    assert caught.value.step == step
    assert caught.value.time == pytest.approx(time)
    message = str(caught.value)
    assert f"at step {step}: loss nan" in message
    assert f"diffusion time {time:.6g}" in message
    if step > 1:
        assert f"checkpoint is step {step - 1} in {tmp_path / 'checkpoints'}" in message
    with pytest.raises(train.TrainingDiverged, match="nothing was saved"):
        tiny_run(generator=generator, key=key, chunk=1)
