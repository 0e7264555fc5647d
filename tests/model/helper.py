"""Model files with a changed document or changed tensors, and checksums that fit again."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

from safetensors.numpy import load_file, save

from geomndp import _model_files
from geomndp._safetensors import read_contents, read_metadata
from geomndp.model.legacy import _TAGS, DOCUMENT, FIELD_RENAMES


def document_of(path: Path) -> dict:
    return json.loads(read_metadata(path)[_model_files.KEY])


def rewrite(path: Path, document: dict, tensors: dict | None = None) -> None:
    """A file whose checksum is right whatever it holds."""
    tensors = load_file(path) if tensors is None else tensors
    path.write_bytes(save(tensors))
    document = dict(document)
    document["sha256"] = _model_files.digest(document, read_contents(path).data)
    path.write_bytes(save(tensors, {_model_files.KEY: json.dumps(document)}))


def change(path: Path, edit: Callable[[dict], object]) -> None:
    """Edit the document in place."""
    document = document_of(path)
    edit(document)
    rewrite(path, document)


def as_version_one(path: Path) -> dict:
    """Make a pair of files of version 1 from a file of version 3; return the document."""
    names = {tag: name for name, tag in _TAGS.items()}

    def old(value):
        if isinstance(value, list):
            return [old(item) for item in value]
        if not isinstance(value, dict):
            return value
        parts = _old_fields(value.get("kind", ""), {k: old(item) for k, item in value.items()})
        return parts | ({"kind": names[parts["kind"]]} if "kind" in parts else {})

    document = document_of(path)
    path.write_bytes(save(load_file(path)))
    gone = ("dtype", "stored_dtype", "support")
    document = {key: value for key, value in document.items() if key not in gone}
    parts = {key: value if key == "metadata" else old(value) for key, value in document.items()}
    parts = _old_fields(DOCUMENT, parts)
    parts |= {"version": 1, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    path.with_suffix(".json").write_text(json.dumps(parts))
    return parts


def _old_fields(tag: str, parts: dict) -> dict:
    old = {new: old for old, new in FIELD_RENAMES.get(tag, {}).items()}
    return {old.get(key, key): value for key, value in parts.items()}
