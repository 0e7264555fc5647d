"""Bounded reading of safetensors files and JSON: sizes and types are checked before contents.

A safetensors file is the length of a JSON header in 8 bytes, the header (name -> dtype, shape and
offsets of a tensor, `__metadata__` -> strings) and the tensors' bytes without gaps. Plain Python,
so that listing is fast.
"""

from __future__ import annotations

import json
import math
import os
import stat
from pathlib import Path
from typing import Any, NamedTuple

MAX_FILE = 2 * 2**30
MAX_HEADER = 8 * 2**20
MAX_JSON = 2**20
MAX_DEPTH = 32
ITEM_SIZES = {"BF16": 2, "F16": 2, "F32": 4, "F64": 8, "I32": 4, "I64": 8, "U8": 1, "BOOL": 1}
"""Bytes per value of the dtypes that models may hold."""
_TYPES = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a fifo",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class Tensor(NamedTuple):
    """Where a tensor lies in the bytes after the header."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int


class Contents(NamedTuple):
    """A safetensors file that is consistent in itself."""

    tensors: dict[str, Tensor]
    metadata: dict[str, str]
    data: bytes


def file_size(path: Path, most: int) -> int:
    """Size of a regular file, refused beyond `most` bytes."""
    try:
        info = path.stat()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ValueError(f"expected a file {path}, got: {reason}") from error
    if not stat.S_ISREG(info.st_mode):
        file_type = _TYPES.get(stat.S_IFMT(info.st_mode), "something else")
        raise ValueError(f"expected a regular file {path}, got {file_type}")
    if info.st_size > most:
        raise ValueError(f"expected at most {most} bytes in {path}, got {info.st_size}")
    return info.st_size


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object of a file."""
    size = file_size(path, MAX_JSON)
    return parse_json(_read(path, 0, size), f"in {path}")


def parse_json(text: str | bytes, where: str) -> dict[str, Any]:
    """A JSON object of bounded depth and finite numbers."""
    try:
        value = json.loads(text, parse_constant=_finite, parse_float=_finite)
        if not isinstance(value, dict):
            raise ValueError("not an object")
        check_depth(value)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"expected a JSON object {where}, got a foreign or damaged one") from error
    return value


def check_depth(value: Any) -> None:
    """Refuse JSON nested deeper than `MAX_DEPTH`."""
    level = [value]
    for _ in range(MAX_DEPTH):
        children = (v.values() if isinstance(v, dict) else v for v in level)
        level = [v for part in children for v in part if isinstance(v, (dict, list, tuple))]
        if not level:
            return
    raise ValueError(f"expected JSON nested at most {MAX_DEPTH} deep, got deeper")


def read_metadata(path: Path) -> dict[str, str]:
    """The strings in the header of a safetensors file; reads nothing else."""
    size = file_size(path, MAX_FILE)
    return _metadata(path, _header(path, size)[0])


def read_contents(path: Path) -> Contents:
    """Header and data of a safetensors file."""
    size = file_size(path, MAX_FILE)
    header, start = _header(path, size)
    metadata = _metadata(path, header)
    tensors = {name: _tensor(path, name, entry) for name, entry in header.items()}
    end = 0
    for name, tensor in sorted(tensors.items(), key=lambda item: item[1].start):
        if tensor.start != end:
            raise ValueError(f"expected tensors without gaps in {path}, got {name[:80]!r}")
        end = tensor.end
    if start + end != size:
        raise ValueError(f"expected {start + end} bytes in {path}, got {size}")
    return Contents(tensors, metadata, _read(path, start, end))


def _header(path: Path, size: int) -> tuple[dict[str, Any], int]:
    """The header, and where the data begin."""
    length = int.from_bytes(_read(path, 0, min(size, 8)), "little")
    if size < 8 or length > min(MAX_HEADER, size - 8):
        raise ValueError(f"expected a safetensors file {path}, got a foreign or damaged one")
    return parse_json(_read(path, 8, length), f"as the header of {path}"), 8 + length


def _metadata(path: Path, header: dict[str, Any]) -> dict[str, str]:
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise ValueError(f"expected strings as __metadata__ of {path}, got something else")
    return metadata


def _tensor(path: Path, name: str, entry: Any) -> Tensor:
    """One entry of the header, consistent in itself."""
    try:
        dtype, shape, (start, end) = entry["dtype"], tuple(entry["shape"]), entry["data_offsets"]
        valid = all(type(n) is int and 0 <= n <= MAX_FILE for n in (*shape, start, end))
        if len(entry) != 3 or not valid or len(shape) > 8:
            raise ValueError("sizes")
        if end - start != math.prod(shape) * ITEM_SIZES[dtype]:
            raise ValueError("offsets")
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"expected a tensor {name[:80]!r} in {path}, got a damaged one") from error
    return Tensor(dtype, shape, start, end)


def _read(path: Path, start: int, length: int) -> bytes:
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            file.seek(start)
            return file.read(length)
    except OSError as error:
        raise ValueError(f"expected to read {path}, got: {error.strerror}") from error


def _without_waiting(path: str, flags: int) -> int:
    """A file that becomes a fifo after its type was checked does not block."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _finite(text: str) -> float:
    """NaN, Infinity and 1e400 are no JSON of ours."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"expected finite numbers, got {text}")
    return value
