"""Checkpoints and logs: whole or absent, of this run or refused."""

import errno
from pathlib import Path

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest
from numpy.testing import assert_array_equal

from geomndp import train
from geomndp.train import checkpoint
from geomndp.train.checkpoint import digest

SETTINGS = {"steps": 10, "rate": 0.1}


def state_at(step, size=5):
    params = jnp.arange(float(size)) + step
    optimiser = optax.adam(1e-3).init(params)
    return train.TrainState(
        params, 2 * params, optimiser, jnp.asarray(step, jnp.int32), jr.key(step)
    )


def opened(folder, settings=SETTINGS, **options):
    return train.Checkpoints(folder / "checkpoints", settings, **options)


def assert_same(first, second):
    assert jax.tree.structure(first) == jax.tree.structure(second)
    for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True):
        assert a.dtype == b.dtype
        if a.dtype == first.key.dtype:
            a, b = jr.key_data(a), jr.key_data(b)
        assert_array_equal(a, b)


def test_the_last_few_are_kept_and_the_latest_comes_back(tmp_path):
    checkpoints = opened(tmp_path, keep=2)
    assert checkpoints.latest is None
    assert checkpoints.restore(state_at(0)) is None
    for step in (1, 2, 3):
        checkpoints.save(state_at(step))
    checkpoints.close()
    again = opened(tmp_path)
    assert sorted(path.name for path in again.directory.iterdir()) == ["2", "3"]
    assert again.latest == 3
    assert_same(again.restore(state_at(0)), state_at(3))


def harm(folder, how):
    files = [path for path in folder.rglob("*") if path.is_file()]
    if how == "emptied":
        for path in files:
            path.unlink()
    elif how == "cut":
        for path in files:
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    else:  # a flipped bit in the middle of every file of arrays
        for path in folder.rglob("ocdbt.process_0/d/*"):
            content = bytearray(path.read_bytes())
            content[len(content) // 2] ^= 1
            path.write_bytes(bytes(content))


@pytest.mark.parametrize("how", ["emptied", "cut", "flipped"])
def test_a_damaged_checkpoint_is_skipped(how, tmp_path):
    checkpoints = opened(tmp_path)
    for step in (1, 2):
        checkpoints.save(state_at(step, size=2000))
    checkpoints.close()
    harm(checkpoints.directory / "2", how)
    again = opened(tmp_path)
    with pytest.warns(UserWarning, match="removed a damaged checkpoint, step 2"):
        state = again.restore(state_at(0, size=2000))
    assert_same(state, state_at(1, size=2000))
    again.save(state_at(2, size=2000))
    assert again.latest == 2


def test_nothing_but_damaged_checkpoints_is_an_error(tmp_path):
    checkpoints = opened(tmp_path)
    checkpoints.save(state_at(1))
    checkpoints.close()
    harm(checkpoints.directory / "1", "cut")
    with pytest.raises(train.CheckpointError, match=r"no checkpoint in .* can be read: step 1"):
        opened(tmp_path).restore(state_at(0))


def test_a_foreign_folder_is_refused_and_left_alone(tmp_path):
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    (folder / "holiday.jpg").write_text("sea")
    with pytest.raises(train.CheckpointError, match=r"only checkpoints .* found holiday\.jpg"):
        opened(tmp_path)
    assert (folder / "holiday.jpg").read_text() == "sea"
    with pytest.raises(train.CheckpointError, match="got the file"):
        train.Checkpoints(folder / "holiday.jpg", SETTINGS)


def test_another_run_is_refused_by_name(tmp_path):
    checkpoints = opened(tmp_path)
    checkpoints.save(state_at(1))
    checkpoints.close()
    other = opened(tmp_path, {**SETTINGS, "steps": 20})
    with pytest.raises(train.CheckpointError, match=r"steps \(there 10, here 20\)$"):
        other.restore(state_at(0, size=9))


def test_a_run_of_an_earlier_version_is_refused_and_left_alone(tmp_path, monkeypatch):
    """Its checkpoints do not say what they belong to."""
    checkpoints = opened(tmp_path)
    with monkeypatch.context() as earlier:
        earlier.setattr(checkpoint, "FORMAT", checkpoint.EARLIER)
        checkpoints.save(state_at(1))
    checkpoints.close()
    with pytest.raises(train.CheckpointError, match="one of an earlier one, whose checkpoints do"):
        opened(tmp_path).restore(state_at(0))
    assert (checkpoints.directory / "1").is_dir()


def test_what_a_killed_run_left_is_removed(tmp_path):
    checkpoints = opened(tmp_path)
    checkpoints.save(state_at(1))
    checkpoints.close()
    (checkpoints.directory / "1").rename(checkpoints.directory / "2.orbax-checkpoint-tmp")
    checkpoints = opened(tmp_path)
    checkpoints.save(state_at(3))
    checkpoints.close()
    assert [path.name for path in checkpoints.directory.iterdir()] == ["3"]


def test_digest_sees_every_bit():
    assert digest(state_at(1)) == digest(state_at(1))
    assert digest(state_at(1)) != digest(state_at(2))


def test_log_goes_on_after_a_kill(tmp_path):
    path = tmp_path / "log.csv"
    log = train.Log(path)
    for step in (5, 10, 15):
        log.append(step, 1.0 / step, 0.5, 0.1 * step)
    log.close()
    with path.open("a") as file:
        file.write("20,0.04")  # cut short
    log = train.Log(path, upto=10)
    assert log.seconds == 1.0
    log.append(15, 0.3, 0.5, 1.6)
    log.close()
    history = log.history()
    assert_array_equal(history.steps, [5, 10, 15])
    assert_array_equal(history.loss, [0.2, 0.1, 0.3])
    lines = path.read_text().splitlines()
    assert lines[0] == "step,loss,gradient_norm,seconds"
    assert [line.split(",")[0] for line in lines[1:]] == ["5", "10", "15"]
    assert [p.name for p in tmp_path.iterdir()] == ["log.csv"]


def test_a_full_disk_is_said_in_one_sentence(tmp_path):
    log = train.Log(tmp_path / "log.csv")
    log.append(5, 1.0, 0.5, 0.1)
    log.close()
    log._file = Path("/dev/full").open("a")
    with pytest.raises(
        OSError, match=r"expected to write .*log\.csv, got: No space left on device$"
    ):
        log.append(10, 1.0, 0.5, 0.2)
    log.close()
    kept = train.Log(tmp_path / "log.csv", upto=10, write=False)
    assert_array_equal(kept.history().steps, [5])


def test_what_cannot_be_written_leaves_the_last_checkpoint(tmp_path, monkeypatch):
    checkpoints = opened(tmp_path, keep=1)
    checkpoints.save(state_at(1))

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint.os, "posix_fallocate", full)
        with pytest.raises(
            OSError, match=r"checkpoint of step 2 in .*, got: No space left on device$"
        ):
            checkpoints.save(state_at(2))
    with monkeypatch.context() as patch:
        patch.setattr(checkpoints._manager, "save", full)
        with pytest.raises(
            OSError, match=r"checkpoint of step 2 in .*, got: No space left on device$"
        ):
            checkpoints.save(state_at(2))
    assert checkpoints.latest == 1
    checkpoints.close()
    again = opened(tmp_path, keep=1)
    assert_same(again.restore(state_at(0)), state_at(1))
    again.save(state_at(2))
    assert again.latest == 2


def test_a_file_system_that_cannot_say_how_much_room_there_is(tmp_path, monkeypatch):
    def unknown(*_):
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(checkpoint.os, "posix_fallocate", unknown)
    checkpoints = opened(tmp_path)
    checkpoints.save(state_at(1))
    assert checkpoints.latest == 1
    checkpoints.close()


def test_empty_history():
    history = train.Log(None).history()
    assert all(np.shape(column) == (0,) for column in history)
