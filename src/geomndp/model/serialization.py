"""Models as files: one safetensors file, with everything but the parameters as JSON in its header.

One file is replaced by one rename: whoever is stopped while saving leaves the old model or the new
one. Loading never runs code, and checks everything before anything is made: type and size of the
file, the JSON against the fields of the classes that it names, the tensors against the network.
Files of versions 1 (two of them, see `_pretrained`) and 2 are read too.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from pathlib import Path
from typing import Any

from geomndp import _atomic_io, _pretrained
from geomndp._safetensors import MAX_JSON, check_depth, read_contents
from geomndp.model.document import from_document, learnt_score, to_document
from geomndp.model.legacy import upgrade
from geomndp.model.model import Model
from geomndp.model.tensors import float_dtype, parameters, round_to


def save(
    model: Model,
    path: str | os.PathLike,
    metadata: dict | None = None,
    dtype: str | None = None,
) -> None:
    """Write a model with a learnt score as `path`.safetensors, whole or not at all.

    Args:
        model: A model with a `NetworkScore` of a registered network.
        path: File to write, with or without the ending; folders are made.
        metadata: Anything that JSON can hold; stored in the file.
        dtype: Dtype of the stored parameters, "float16" or "bfloat16" for half the size; by default
            that of the network. Loading gives the network's dtype back.

    Raises:
        ValueError: If the file could not be loaded again; nothing is written then.
    """
    path, net = _pretrained.stem(path), learnt_score(model).net
    if not path.name:
        raise ValueError(f"expected a file to save to, got {os.fspath(path)!r}")
    target = _pretrained.sibling(path, ".safetensors")
    with _atomic_io.replacing(target) as temporary:
        temporary.write_bytes(_encode(model, net, metadata or {}, dtype))
        _check_again(model, temporary)
    _remove_old(path)


def load(name: str | os.PathLike) -> Model:
    """Read a model.

    Args:
        name: Its path (with or without ending), the folder of its training, or its shipped name.

    Raises:
        ValueError: If there is no such model, or its file is damaged, foreign, too large or of a
            class that is not registered (see `register`).
    """
    path = _pretrained.find(name)
    document, weights = _pretrained.read_document(path), _pretrained.weights(path)
    return _decode(document, weights)


def _encode(model: Model, net: Any, metadata: dict, dtype: str | None) -> bytes:
    """Contents of a model's file."""
    from safetensors.numpy import save as encode

    tensors = parameters(net)
    net_dtype = float_dtype(tensors)
    stored = net_dtype if dtype is None else dtype
    tensors = round_to(tensors, stored)
    document = _json(to_document(model, net_dtype, stored)) | {"metadata": _json(metadata)}
    data = encode(tensors)
    start = 8 + int.from_bytes(data[:8], "little")
    document["sha256"] = _pretrained.digest(document, data[start:])
    return encode(tensors, {_pretrained.KEY: json.dumps(document, allow_nan=False)})


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


def _check_again(model: Model, path: Path) -> None:
    """Refuse to leave a file that cannot be loaded, or that holds another model."""
    document = _pretrained.read_document(_pretrained.stem(path))
    again = _decode(document, path)
    dtypes = document["dtype"], document["stored_dtype"]
    if to_document(again, *dtypes) != to_document(model, *dtypes):
        raise ValueError(
            "expected a model whose parts are made from their fields alone, got others"
        )


def _remove_old(path: Path) -> None:
    """Remove the document of a model of version 1, or the card of an older one."""
    old = _pretrained.sibling(path, ".json")
    if old.is_file() and _pretrained.is_document(old):
        with contextlib.suppress(OSError):
            old.unlink()


def _decode(document: dict[str, Any], weights: Path) -> Model:
    """Model of a document and of the file with its tensors."""
    contents = read_contents(weights)
    if document["version"] == 1:
        digest = hashlib.sha256(weights.read_bytes()).hexdigest()
    else:
        digest = _pretrained.digest(document, contents.data)
    _check_sum(document, digest, weights)
    try:
        return from_document(upgrade(document), contents)
    except ValueError as error:
        raise ValueError(f"{error} (in {weights})") from error


def _check_sum(document: dict[str, Any], digest: str, weights: Path) -> None:
    if document.get("sha256") != digest:
        expected = str(document.get("sha256"))[:12]
        raise ValueError(f"expected {weights} with checksum {expected}, got another")
