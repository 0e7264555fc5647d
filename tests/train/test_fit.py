"""A run from start to end: what it returns and writes, how it stops and goes on."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from geomndp import train
from geomndp._types import Batch
from geomndp.train import loop

from .helper import NOISING, TinyStream, parameters, tiny_run, tiny_score


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    return folder, *tiny_run(folder)


def test_history_log_and_checkpoints(whole):
    folder, trained, history = whole
    assert_array_equal(history.steps, np.arange(5, 41, 5))
    assert np.isfinite(history.loss).all() and np.all(np.diff(history.seconds) > 0)
    rows = np.loadtxt(folder / "log.csv", delimiter=",", skiprows=1)
    assert_array_equal(rows[:, 0], history.steps)
    assert_array_equal(rows[:, 1], history.loss)
    assert sorted(p.name for p in (folder / "checkpoints").iterdir()) == ["20", "30", "40"]
    assert trained.conditional


def test_a_finished_run_is_read_back(whole):
    folder, trained, history = whole
    again, same = tiny_run(folder)
    for a, b in zip(parameters(trained), parameters(again), strict=True):
        assert_array_equal(a, b)
    assert_array_equal(same.loss, history.loss)


def test_an_interrupted_run_goes_on_to_the_same_bits(whole, tmp_path, monkeypatch):
    _, trained, history = whole
    calls = 0

    def interrupted(*args):
        nonlocal calls
        calls += 1
        if calls == 6:
            raise KeyboardInterrupt
        return train.advance(*args)

    monkeypatch.setattr(loop, "advance", interrupted)
    with pytest.raises(KeyboardInterrupt, match=r"after step 25; .* step 20 in .*checkpoints"):
        tiny_run(tmp_path)
    monkeypatch.undo()
    again, whole_history = tiny_run(tmp_path)
    for a, b in zip(parameters(trained), parameters(again), strict=True):
        assert_array_equal(a, b)
    assert_array_equal(whole_history.loss, history.loss)
    assert_array_equal(whole_history.steps, history.steps)


def test_another_run_in_the_same_folder_is_refused(whole):
    folder = whole[0]
    with pytest.raises(train.CheckpointError, match="another run, with other key"):
        tiny_run(folder, key=jr.key(2))
    with pytest.raises(train.CheckpointError, match=r"other decay .*, steps \(there 40, here 50\)"):
        tiny_run(folder, steps=50, decay=0.5)


class Spoilt(TinyStream):
    """From one step on, one function of the batch holds a NaN."""

    def draw(self, key):
        batch = super().draw(key)
        bad = jr.uniform(key) < 0.2
        y = batch.y.at[3, 0, 0].set(jnp.where(bad, jnp.nan, batch.y[3, 0, 0]))
        return Batch(batch.x, y, batch.mask, jnp.zeros_like(batch.mask))


def first_bad(key, stream):
    """Step and time of the first bad function, found without training."""
    for step in range(40):
        data_key, loss_key = jr.split(jr.fold_in(key, step))
        batch = stream.draw(data_key)
        if bool(jnp.isnan(batch.y).any()):
            time_key, _ = jr.split(loss_key)
            t, _ = train.DenoisingLoss().draw_times(NOISING, batch, key=time_key)
            return step + 1, float(t[3])
    raise AssertionError("no bad step: choose another key")


def test_nan_stops_the_run_and_says_where(tmp_path):
    stream, key = Spoilt(), jr.key(11)
    step, time = first_bad(key, stream)
    with pytest.raises(train.TrainingDiverged) as caught:
        tiny_run(tmp_path, stream=stream, key=key, chunk=1, checkpoint_every=1)
    assert caught.value.step == step
    assert caught.value.time == pytest.approx(time)
    message = str(caught.value)
    assert f"at step {step}: loss nan" in message
    assert f"diffusion time {time:.6g}" in message
    if step > 1:
        assert f"checkpoint is step {step - 1} in {tmp_path / 'checkpoints'}" in message
    with pytest.raises(train.TrainingDiverged, match="nothing was saved"):
        tiny_run(stream=stream, key=key, chunk=1)


def test_a_log_without_checkpoints(tmp_path, whole):
    _, history = tiny_run(tmp_path, checkpoint_every=None)
    assert [path.name for path in tmp_path.iterdir()] == ["log.csv"]
    assert_array_equal(history.loss, whole[2].loss)


def test_progress_is_shown_unless_quiet(capsys):
    tiny_run(steps=5, quiet=False)
    assert "5/5" in capsys.readouterr().out
    tiny_run(steps=5)
    assert capsys.readouterr().out == ""


def test_joint_training_is_noted_and_eps_is_passed_on():
    trained, _ = tiny_run(steps=5, stream=TinyStream(contexts=None), eps=0.1)
    assert not trained.conditional
    with pytest.raises(ValueError, match="0 < eps < 1"):
        tiny_run(steps=5, eps=2.0)
    with pytest.raises(ValueError, match="checkpoint_every to be a whole number >= 1, got 0"):
        tiny_run(steps=5, checkpoint_every=0)


def test_the_average_is_returned(whole):
    trainer, state = train.init(
        tiny_score(), NOISING, TinyStream(), train.DenoisingLoss(), train.adam(40), key=jr.key(1)
    )
    for _ in range(8):
        state, _ = train.advance(trainer, state, 5)
    for a, b in zip(parameters(trainer.score(state.average)), parameters(whole[1]), strict=True):
        assert_array_equal(a, b)
