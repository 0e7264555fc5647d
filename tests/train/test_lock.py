"""One trainer per folder: the second is refused at once, and the error names the holder."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import geomndp
from geomndp import train
from geomndp.train.lock import hold

from .helper import tiny_run

HOLDER = """
import sys, time
from pathlib import Path
from geomndp.train.lock import hold
with hold(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the folder."""
    environment = {**os.environ, "PYTHONPATH": str(Path(geomndp.__file__).parents[1])}
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_the_second_trainer_is_refused_and_changes_nothing(holder, tmp_path):
    (tmp_path / "log.csv").write_text("of the other\n")
    who = rf"no other run trains, got .*, held by process {holder.pid} on \S+ since \d{{4}}-"
    with pytest.raises(train.FolderInUse, match=who):
        tiny_run(tmp_path)
    assert (tmp_path / "log.csv").read_text() == "of the other\n"
    assert not (tmp_path / "checkpoints").exists()


def test_a_killed_trainer_holds_nothing(holder, tmp_path):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    with hold(tmp_path):
        assert f"process {os.getpid()} on " in (tmp_path / ".lock").read_text()
        with (
            pytest.raises(train.FolderInUse, match=f"held by process {os.getpid()} on"),
            hold(tmp_path),
        ):
            pass
    with hold(tmp_path):  # released at the end of the block
        pass
    assert (tmp_path / ".lock").read_text() == ""


def test_a_folder_that_cannot_be_made_gets_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"^expected to train in .*file/run, got: Not a directory$"):
        tiny_run(tmp_path / "file" / "run")


def test_without_locks_there_is_a_warning(tmp_path, monkeypatch):
    def none(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", none)
        with (
            pytest.warns(UserWarning, match=r"no lock on .* \(No locks available\)"),
            hold(tmp_path),
        ):
            pass
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "fcntl", None)  # as on Windows
        with pytest.warns(UserWarning, match="with one process only"), hold(tmp_path):
            pass
