"""Files appear whole or not at all, whoever writes them and whatever stops them."""

import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest

from geomndp import _atomic_io

# Replaces table.csv, and stays for ever before the end of its block.
SLOW = """
import sys, time
from geomndp import _atomic_io
with _atomic_io.replacing("table.csv") as temporary:
    temporary.write_text("new, but only ha")
    print("half-way", flush=True)
    time.sleep(600)
"""


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_writer_killed_half_way_leaves_the_old_file(tmp_path):
    path = _atomic_io.write(tmp_path / "table.csv", "old")
    command = [sys.executable, "-c", SLOW]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout and writer.stdout.readline() == "half-way\n"
        os.kill(writer.pid, signal.SIGKILL)
    assert path.read_text() == "old"
    assert _atomic_io.write(path, "new").read_text() == "new"


@pytest.mark.parametrize("stop", [KeyboardInterrupt, ValueError])
def test_a_writer_that_gives_up_leaves_nothing(stop, tmp_path):
    path = _atomic_io.write(tmp_path / "table.csv", "old")
    with pytest.raises(stop), _atomic_io.replacing(path) as temporary:
        temporary.write_text("half")
        raise stop
    assert names(tmp_path) == ["table.csv"] and path.read_text() == "old"


def test_the_temporary_name_ends_as_the_file_and_folders_are_made(tmp_path):
    path = tmp_path / "a" / "b" / "numbers.v2.npz"
    with _atomic_io.replacing(path) as temporary:
        # numpy, like matplotlib and xarray, goes by the ending.
        np.savez(temporary, one=1)
    with np.load(path) as found:
        assert found["one"] == 1
    assert names(path.parent) == ["numbers.v2.npz"]


def test_text_and_bytes_are_written_as_they_are(tmp_path):
    assert _atomic_io.write(tmp_path / "a", "ä\n").read_bytes() == b"\xc3\xa4\n"
    assert _atomic_io.write(tmp_path / "a", b"\r\n\xff").read_bytes() == b"\r\n\xff"


def blocked(folder):
    """A file instead of a folder stops even the superuser."""
    _atomic_io.write(folder / "file", "")
    return folder / "file" / "table.csv"


def occupied(folder):
    (folder / "table.csv").mkdir()
    return folder / "table.csv"


def read_only(folder):
    path = _atomic_io.write(folder / "table.csv", "old")
    path.chmod(0o444)
    return path


TARGETS = {
    blocked: "File exists|Not a directory",
    occupied: "it is a folder",
    read_only: "it is read-only",
}


@pytest.mark.parametrize(
    "write", [_atomic_io.check_writable, lambda path: _atomic_io.write(path, "new")]
)
@pytest.mark.parametrize("target", TARGETS)
def test_what_cannot_be_written_is_refused_in_one_sentence(target, write, tmp_path, monkeypatch):
    path = target(tmp_path)
    if target is read_only:
        # To the superuser no file is read-only.
        monkeypatch.setattr(os, "access", lambda path, mode: False)
    before = names(tmp_path)
    with pytest.raises(
        OSError, match=f"to write {re.escape(str(path))}, got: ({TARGETS[target]})$"
    ):
        write(path)
    assert names(tmp_path) == before


def test_a_full_disk_is_one_sentence_too(tmp_path):
    path = tmp_path / "table.csv"
    full = r"^expected to write .*table\.csv, got: No space left on device$"
    with pytest.raises(OSError, match=full), _atomic_io.replacing(path) as temporary:
        temporary.symlink_to("/dev/full")
        temporary.write_text("new")
    assert names(tmp_path) == []


def test_a_place_that_can_be_written_is_left_as_it_was(tmp_path):
    _atomic_io.check_writable(tmp_path / "new.csv")
    _atomic_io.check_writable(tmp_path / "folder" / "inner" / "new.csv")
    path = _atomic_io.write(tmp_path / "old.csv", "old")
    _atomic_io.check_writable(path)
    assert names(tmp_path) == ["old.csv"] and path.read_text() == "old"
