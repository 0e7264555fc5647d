"""Models as files: one safetensors file, with everything but the parameters as JSON in its header.

One file is replaced by one rename: whoever is stopped while saving leaves the old model or the new
one. Loading never runs code, and checks everything before anything is made: type and size of the
file, the JSON against the fields of the classes that it names, the tensors against the network.
Files of versions 1 (two of them, see `_model_files`) and 2 are read too.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from geomndp import _atomic_io, _model_files
from geomndp._safetensors import MAX_JSON, check_depth, read_contents
from geomndp.model.base import AbstractModel
from geomndp.model.documents import decode, encode
from geomndp.model.legacy import upgrade

MAX_DESCRIPTION = 2**20
"""Bytes of a document without its metadata."""
_FRAME = ("format", "version", "sha256", "metadata")


def save(
    model: AbstractModel,
    path: str | os.PathLike,
    metadata: dict | None = None,
    dtype: str | None = None,
) -> None:
    """Write a model as `path`.safetensors, whole or not at all.

    Args:
        model: A model with a `NetworkScore` of a registered network, a `ProcessModel` of a
            registered process, a mixture of such, or a `ChartModel` of any of them.
        path: File to write, with or without the ending; folders are made.
        metadata: Anything that JSON can hold; stored in the file.
        dtype: Dtype of the stored parameters, "float16" or "bfloat16" for half the size; by default
            that of the network. Loading gives the network's dtype back.

    Raises:
        ValueError: If the file could not be loaded again; nothing is written then.
    """
    path = _model_files.stem(path)
    if not path.name:
        raise ValueError(f"expected a file to save to, got {os.fspath(path)!r}")
    target = _model_files.sibling(path, ".safetensors")
    with _atomic_io.replacing(target) as temporary:
        temporary.write_bytes(_encode(model, metadata or {}, dtype))
        _check_again(model, temporary, dtype)
    _remove_old(path)


def load(name: str | os.PathLike) -> Any:
    """Read a model: a `Model`, `ProcessModel`, `MixtureProcess` or `ChartModel`.

    Args:
        name: Its path (with or without ending), the folder of its training, or its shipped name
            (`geomndp list`).

    Returns:
        The model, on the default device; `print` shows it in ten lines.

    Raises:
        ValueError: If there is no such model, or its file is damaged, foreign, too large or of a
            class that is not registered (see `register`).

    Example:
        `model = gn.load("regression1d/se")`, or `gn.load("runs/mine")` after a training.
    """
    path = _model_files.find(name)
    document, weights = _model_files.read_document(path), _model_files.weights(path)
    return _decode(document, weights)


def _encode(model: AbstractModel, metadata: dict, dtype: str | None) -> bytes:
    """Contents of a model's file."""
    from safetensors.numpy import save as as_bytes

    described, tensors = encode(model, dtype)
    tensors = {name: np.asarray(value, order="C") for name, value in tensors.items()}
    frame = {"format": _model_files.KEY, "version": _model_files.VERSION}
    document = _json(frame | described) | {"metadata": _json(metadata)}
    data = as_bytes(tensors)
    start = 8 + int.from_bytes(data[:8], "little")
    document["sha256"] = _model_files.digest(document, data[start:])
    return as_bytes(tensors, {_model_files.KEY: json.dumps(document, allow_nan=False)})


def _json(value: dict) -> dict:
    """As it will be read back."""
    try:
        text = json.dumps(value, allow_nan=False)
        check_depth(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"expected what JSON can hold to save, got: {error}") from error
    if len(text) > MAX_JSON:
        raise ValueError(f"expected at most {MAX_JSON} bytes of JSON to save, got {len(text)}")
    return json.loads(text)


def _check_again(model: AbstractModel, path: Path, dtype: str | None) -> None:
    """Refuse to leave a file that cannot be loaded, or that holds another model."""
    again = _decode(_model_files.read_document(_model_files.stem(path)), path)
    if encode(again, dtype)[0] != encode(model, dtype)[0]:
        raise ValueError(
            "expected a model whose parts are made from their fields alone, got others"
        )


def _remove_old(path: Path) -> None:
    """Remove the document of a model of version 1, or the card of an older one."""
    old = _model_files.sibling(path, ".json")
    if old.is_file() and _model_files.is_document(old):
        with contextlib.suppress(OSError):
            old.unlink()


def _decode(document: dict[str, Any], weights: Path) -> Any:
    """Model of a document and of the file with its tensors."""
    contents = read_contents(weights)
    if document["version"] == 1:
        digest = hashlib.sha256(weights.read_bytes()).hexdigest()
    else:
        digest = _model_files.digest(document, contents.data)
    _check_sum(document, digest, weights)
    try:
        document = upgrade(document) if document["version"] < _model_files.VERSION else document
        _check_size(document)
        described = {key: value for key, value in document.items() if key not in _FRAME}
        return decode(described, contents)
    except ValueError as error:
        raise ValueError(f"{error} (in {weights})") from error


def _check_size(document: dict[str, Any]) -> None:
    described = {name: value for name, value in document.items() if name != "metadata"}
    if (size := len(json.dumps(described))) > MAX_DESCRIPTION:
        raise ValueError(f"expected at most {MAX_DESCRIPTION} bytes of description, got {size}")


def _check_sum(document: dict[str, Any], digest: str, weights: Path) -> None:
    if document.get("sha256") != digest:
        expected = str(document.get("sha256"))[:12]
        raise ValueError(f"expected {weights} with checksum {expected}, got another")
