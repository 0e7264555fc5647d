"""A run from start to end: what it returns and writes, how it stops and goes on."""

from contextlib import nullcontext

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest
from numpy.testing import assert_array_equal

from geomndp import data, train
from geomndp._types import Batch
from geomndp.train import step as step_module

from .helper import NOISING, TinyGenerator, parameters, tiny_run, tiny_score


@pytest.fixture(scope="module")
def complete(tmp_path_factory):
    folder = tmp_path_factory.mktemp("complete")
    return folder, *tiny_run(folder)


def test_history_log_and_checkpoints(complete):
    folder, trained, history = complete
    assert_array_equal(history.steps, np.arange(5, 41, 5))
    assert np.isfinite(history.loss).all() and np.all(np.diff(history.seconds) > 0)
    rows = np.loadtxt(folder / "log.csv", delimiter=",", skiprows=1)
    assert_array_equal(rows[:, 0], history.steps)
    assert_array_equal(rows[:, 1], history.loss)
    assert sorted(p.name for p in (folder / "checkpoints").iterdir()) == ["20", "30", "40"]
    assert trained.conditional


def test_a_finished_run_is_read_back(complete):
    folder, trained, history = complete
    again, same = tiny_run(folder)
    for a, b in zip(parameters(trained), parameters(again), strict=True):
        assert_array_equal(a, b)
    assert_array_equal(same.loss, history.loss)


def interrupted(after):
    """Steps that are stopped after so many dispatches."""
    calls = 0

    def stopped(*args):
        nonlocal calls
        calls += 1
        if calls > after:
            raise KeyboardInterrupt
        return train.train_steps(*args)

    return stopped


def test_an_interrupted_run_goes_on_to_the_same_bits(complete, tmp_path, monkeypatch):
    _, trained, history = complete
    monkeypatch.setattr(step_module, "train_steps", interrupted(after=5))
    with pytest.raises(KeyboardInterrupt, match=r"after step 25; .* step 20 in .*checkpoints"):
        tiny_run(tmp_path)
    monkeypatch.undo()
    again, resumed = tiny_run(tmp_path)
    for a, b in zip(parameters(trained), parameters(again), strict=True):
        assert_array_equal(a, b)
    assert_array_equal(resumed.loss, history.loss)
    assert_array_equal(resumed.steps, history.steps)


def test_a_failed_write_stops_the_run_and_says_what_is_kept(complete, tmp_path, monkeypatch):
    """Both of the log and of a checkpoint; then the run ends as if nothing had been."""
    for method, message in ((train.Log, "append"), (train.Checkpoints, "save")):
        with monkeypatch.context() as patch:
            patch.setattr(method, message, failing(getattr(method, message), after=3))
            with pytest.raises(OSError, match=r"^no room; the last good checkpoint is step \d+ in"):
                tiny_run(tmp_path / message)
        trained, history = tiny_run(tmp_path / message)
        for a, b in zip(parameters(complete[1]), parameters(trained), strict=True):
            assert_array_equal(a, b)
        assert_array_equal(history.loss, complete[2].loss)


def failing(method, after):
    calls = 0

    def fails(*args):
        nonlocal calls
        calls += 1
        if calls > after:
            raise OSError("no room")
        return method(*args)

    return fails


def test_another_run_in_the_same_folder_is_refused(complete):
    folder = complete[0]
    with pytest.raises(train.CheckpointError, match="another run, with other key"):
        tiny_run(folder, key=jr.key(2))
    with pytest.raises(
        train.CheckpointError, match=r"other ema_decay .*, steps \(there 40, here 50\)"
    ):
        tiny_run(folder, steps=50, ema_decay=0.5)


def functions(value):
    x = jnp.linspace(0.0, 1.0, 12).reshape(2, 6, 1)
    y = jnp.sin(x).at[1, 2, 0].set(value)
    return data.ResampledGenerator(Batch(x, y, jnp.ones((2, 6)), jnp.zeros((2, 6))), batch_size=8)


OTHERS = {
    "data": (
        {"generator": functions(0.5)},
        {"generator": functions(0.25)},
        r"data \(functions\.y: there",
    ),
    "learning rate": (
        {},
        {"optimiser": train.adam(40, peak=2e-3)},
        r"optimiser \(.*end_value: there 0\.001, here 0\.002",
    ),
    "optimiser": ({}, {"optimiser": optax.sgd(1e-3)}, r"optimiser \("),
    "weights": (
        {},
        {"score": tiny_score(jr.key(5))},
        r"initial parameters \(there float64 \(\d+,\)",
    ),
    "network": (
        {},
        {"score": tiny_score(activation=jax.nn.relu)},
        r"network \(net\.mlp\.activation: there .*silu, here .*relu\)$",
    ),
    "loss": ({}, {"t_min": 0.1}, r"loss \(t_min: there 0\.0005, here 0\.1\)$"),
    "model": ({}, {"model_settings": {"units": "K"}}, r"model \("),
}


@pytest.mark.parametrize(("case", "done"), [*((case, True) for case in OTHERS), ("data", False)])
def test_what_was_begun_with_something_else_is_refused(case, done, tmp_path, monkeypatch):
    """Before anything is changed in the folder; then the run it belongs to is done as before."""
    options, other, message = OTHERS[case]
    if not done:
        monkeypatch.setattr(step_module, "train_steps", interrupted(after=3))
        with pytest.raises(KeyboardInterrupt, match="step 10 in"):
            tiny_run(tmp_path, steps=20, **options)
        monkeypatch.undo()
    else:
        tiny_run(tmp_path, steps=20, **options)
    before = contents(tmp_path)
    with pytest.raises(train.CheckpointError, match="holds another run, with other .*" + message):
        tiny_run(tmp_path, steps=20, **{**options, **other})
    assert contents(tmp_path) == before
    _, history = tiny_run(tmp_path, steps=20, **options)
    assert history.steps[-1] == 20


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_run_without_checkpoints_leaves_those_of_another_alone(complete):
    folder = complete[0]
    before = contents(folder)
    with pytest.raises(ValueError, match="expected a folder without checkpoints, got"):
        tiny_run(folder, checkpoint_every=None)
    assert contents(folder) == before


def harmed(text, how):
    lines = text.splitlines(keepends=True)
    if how == "garbage":
        odd = "\x00\ufffd what, is, this\n", "1e999,,\n", f"{10**40},1,1,1\n"
        return "".join([*lines[:3], *odd, *lines[3:]])
    if how == "cut":
        return "".join([*lines[:3], lines[3][: len(lines[3]) // 2], *lines[4:]])
    if how == "no header":
        return "".join(lines[1:])
    return "".join([*lines[:3], *lines[4:]])  # a lost line


@pytest.mark.parametrize(
    ("how", "lost", "bad"),
    [("garbage", 0, 3), ("cut", 2, 1), ("line", 1, 0), ("no header", 0, 0), ("file", 4, 0)],
)
def test_a_harmed_log_does_not_stop_a_run(how, lost, bad, complete, tmp_path, monkeypatch):
    monkeypatch.setattr(step_module, "train_steps", interrupted(after=4))
    with pytest.raises(KeyboardInterrupt):
        tiny_run(tmp_path)
    monkeypatch.undo()
    path = tmp_path / "log.csv"
    text = path.read_text()
    path.write_text(harmed(text, how))
    if how == "file":
        path.unlink()
    with pytest.warns(UserWarning, match=f"skipped {bad} lines") if bad else nullcontext():
        trained, history = tiny_run(tmp_path)
    for a, b in zip(parameters(complete[1]), parameters(trained), strict=True):
        assert_array_equal(a, b)
    assert len(history.steps) == 8 - lost and set(history.loss) <= set(complete[2].loss)
    kept = tmp_path / "log.damaged.csv"
    assert kept.read_text() == harmed(text, how) if bad else not kept.exists()


def test_a_log_without_checkpoints(tmp_path, complete):
    _, history = tiny_run(tmp_path, checkpoint_every=None)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "log.csv"]
    assert_array_equal(history.loss, complete[2].loss)


def test_the_average_is_returned(complete):
    trainer, state = train.init(
        tiny_score(), NOISING, TinyGenerator(), train.DenoisingLoss(), train.adam(40), key=jr.key(1)
    )
    for _ in range(8):
        state, _ = train.train_steps(trainer, state, 5)
    for a, b in zip(
        parameters(trainer.score(state.ema_params)), parameters(complete[1]), strict=True
    ):
        assert_array_equal(a, b)
