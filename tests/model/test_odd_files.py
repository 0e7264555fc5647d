"""What is no model file at all: devices, folders, foreign bytes, headers that lie."""

import json
import os
import socket
import time
from pathlib import Path

import pytest

from geomndp import _model_files, _safetensors, load

SECONDS = 0.5  # of the processor


def fifo(path):
    os.mkfifo(path)


def unix_socket(path):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def zeros(path):
    path.symlink_to("/dev/zero")


def folder(path):
    path.mkdir()


def nowhere(path):
    path.symlink_to("gone")


def sparse(path):
    """100 GB that take no room."""
    with path.open("wb") as file:
        file.truncate(100 * 10**9)


ODD = {
    fifo: "got a fifo",
    unix_socket: "got a socket",
    zeros: "got a device",
    folder: "got a folder",
    nowhere: "No such file",
    sparse: "bytes in .*, got 100000000000",
}


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("make", ODD)
def test_what_is_no_file_or_too_large_is_refused_unread(make, version, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # names of sockets are short
    path = Path("m.safetensors")
    make(path)
    if version == 1:
        source = _model_files.folder() / "vector-fields/se-ndp.json"
        Path("m.json").write_bytes(source.read_bytes())
    start = time.process_time()
    with pytest.raises(ValueError, match=ODD[make]):
        load("m")
    assert time.process_time() - start < SECONDS


@pytest.mark.parametrize("make", ODD)
def test_odd_documents_of_version_one_are_refused_unread(make, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make(Path("m.json"))
    with pytest.raises(ValueError, match=ODD[make]):
        load("m")


HEADERS = {
    "empty file": b"",
    "short": b"\1\0",
    "longer than the file": (1 << 40).to_bytes(8, "little") + b"{}",
    "no JSON": (2).to_bytes(8, "little") + b"{[",
    "no object": (2).to_bytes(8, "little") + b"[]",
    "no UTF-8": (2).to_bytes(8, "little") + b"\xff\xfe",
    "no document": (2).to_bytes(8, "little") + b"{}",
    "data without tensors": (2).to_bytes(8, "little") + b"{}" + b"0" * 9,
}


@pytest.mark.parametrize("case", HEADERS)
def test_foreign_files_are_refused(case, tmp_path):
    (tmp_path / "m.safetensors").write_bytes(HEADERS[case])
    with pytest.raises(ValueError, match="expected"):
        load(tmp_path / "m")


ENTRIES = [
    5,
    {},
    {"dtype": "F32", "shape": [1], "data_offsets": [0, 8]},
    {"dtype": "F32", "shape": [-1], "data_offsets": [0, -4]},
    {"dtype": "X9", "shape": [1], "data_offsets": [0, 4]},
    {"dtype": ["F32"], "shape": [1], "data_offsets": [0, 4]},
    {"dtype": "F32", "shape": 1, "data_offsets": [0, 4]},
    {"dtype": "F32", "shape": [1.0], "data_offsets": [0, 4]},
    {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]},
    {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]},
    {"dtype": "F32", "shape": [1], "data_offsets": [0]},
    {"dtype": "F32", "shape": [1], "data_offsets": [0, 4], "more": 1},
]


@pytest.mark.parametrize("entry", ENTRIES, ids=str)
def test_inconsistent_headers_are_refused(entry, tmp_path):
    header = json.dumps({"a": entry}).encode()
    path = tmp_path / "m.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + b"\0" * 4)
    with pytest.raises(ValueError, match="expected"):
        _safetensors.read_contents(path)
    good = {"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}
    header = json.dumps(good).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + b"\0" * 4)
    assert _safetensors.read_contents(path).tensors["a"].shape == (1,)
