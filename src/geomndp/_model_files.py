"""Model files: those that come with the package, their documents, and the classes they may name.

Plain Python, so that listing is fast.

| version | files | holds |
|---|---|---|
| 3 | `NAME.safetensors` | parameters, and the document as the string `geomndp` of the header |
| 2 | `NAME.safetensors` | the same, with other names of some fields |
| 1 | `NAME.safetensors`, `NAME.json` | parameters; the document with the checksum of the other |

Beside such a file a *card* `NAME.json` may stand: {"format", "version": 2, "metadata"},
metadata that replace those in the file, which then need not be written again when metrics are
measured. A card with a "model" is an alias of that shipped model.

A document names classes by stable tags `role/name`. A tag is not a Python path: a class may move
and keep its tag, so that files stay readable. Loading looks tags up in a table and never imports
anything but modules of the package that the table names.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from geomndp import _atomic_io
from geomndp._methods import MODULES
from geomndp._safetensors import parse_json, read_json, read_metadata

VERSION, CARD_VERSION = 3, 2
SUFFIXES = (".json", ".safetensors")
KEY = "geomndp"
"""Name of the document in a safetensors header, and `format` of every document."""
_Class = TypeVar("_Class", bound=type)
_TAG = re.compile(r"[a-z][a-z-]*/[a-z0-9][a-z0-9.-]*")
_CLASSES: dict[str, type] = {}
_TAGS: dict[type, str] = {}


def folder() -> Path:
    """Where the models that come with the package lie."""
    return Path(str(files("geomndp"))) / "shipped"


def names() -> list[str]:
    """Names of the models that come with the package."""
    root = folder()
    paths = (path for suffix in SUFFIXES for path in root.rglob(f"[!.]*{suffix}"))
    return sorted({path.relative_to(root).with_suffix("").as_posix() for path in paths})


def stem(path: str | os.PathLike) -> Path:
    """Path of a model without the ending of one of its files."""
    path = Path(path)
    return path.with_suffix("") if path.suffix in SUFFIXES else path


def sibling(path: Path, suffix: str) -> Path:
    """One of the files of a model."""
    return path.with_name(path.name + suffix)


def find(name: str | os.PathLike) -> Path:
    """Stem of a model given by path, by the folder of its training or by its shipped name."""
    text = os.fspath(name) if isinstance(name, os.PathLike) else name
    if isinstance(text, str) and stem(text).name and "\0" not in text:
        for path in (stem(text), Path(text) / "model", folder() / stem(text)):
            if any(os.path.lexists(sibling(path, suffix)) for suffix in SUFFIXES):
                return path
    near = ", ".join(get_close_matches(str(text)[:99], names(), n=3, cutoff=0.0)) or "none"
    raise ValueError(f"expected a model file or a shipped name ({near}, ...), got {text!r:.200}")


def weights(path: Path) -> Path:
    """File with the parameters of a model, or of the model of which it is an alias."""
    return sibling(_target(path), ".safetensors")


def read_document(path: Path) -> dict[str, Any]:
    """Document of a model as it was saved, refused if foreign or of another version."""
    path = _target(path)
    text = _embedded(path)
    if text is None:
        where = sibling(path, ".json")
        return _checked(read_json(where), where, (1,))
    where = sibling(path, ".safetensors")
    return _checked(parse_json(text, f"as the document of {where}"), where, (2, VERSION))


def document(path: Path) -> dict[str, Any]:
    """Document of a model with the metadata of its card, if it has one."""
    content, card = read_document(path), _card(path)
    if card is None or card.get("sha256", content["sha256"]) != content["sha256"]:
        return content
    return {**content, "metadata": card["metadata"]}


def metadata(name: str | os.PathLike) -> dict[str, Any]:
    """What was noted when the model was made: protocol, seed, steps, measured metrics."""
    return document(find(name))["metadata"]


def write_metadata(path: Path, notes: dict[str, Any]) -> None:
    """Replace a model's metadata: in its document (version 1) or by a card."""
    content, card = read_document(path), _card(path) or {}
    if content["version"] == 1 and "model" not in card:
        content = {**content, "metadata": notes}
    else:
        content = {"format": KEY, "version": CARD_VERSION, "sha256": content["sha256"]} | card
        content["metadata"] = notes
    _atomic_io.write(sibling(path, ".json"), json.dumps(content, indent=1, allow_nan=False) + "\n")


def is_document(path: Path) -> bool:
    """Whether a JSON file is a document or a card of a model."""
    try:
        return read_json(path).get("format") == KEY
    except ValueError:
        return False


def digest(content: dict[str, Any], data: bytes) -> str:
    """Checksum of a document of version 2 or 3 (without its `sha256`) and of its tensors."""
    plain = {key: value for key, value in content.items() if key != "sha256"}
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode() + data).hexdigest()


def _embedded(path: Path) -> str | None:
    """Document in the header of a safetensors file, None if there is no such file or string."""
    where = sibling(path, ".safetensors")
    if not os.path.lexists(where):
        return None
    try:
        return read_metadata(where).get(KEY)
    except ValueError:
        # A damaged file of version 1 is refused by its checksum, which the other file holds.
        if sibling(path, ".json").is_file():
            return None
        raise


def _card(path: Path) -> dict[str, Any] | None:
    """Card of a model, None if it has none."""
    where = sibling(path, ".json")
    try:
        content = read_json(where)
    except ValueError:
        return None  # no file, or one that has nothing to do with the model
    if content.get("format") != KEY or content.get("version") != CARD_VERSION:
        return None
    content = _checked(content, where, (CARD_VERSION,))
    known = {"format", "version", "sha256", "model", "metadata"}
    if unknown := sorted(set(content) - known):
        raise ValueError(f"expected {', '.join(sorted(known))} in {where}, got {unknown[0]!r}")
    return content


def _target(path: Path) -> Path:
    """Stem of the model itself: that of another shipped model for an alias."""
    card = _card(path)
    if card is None or "model" not in card:
        return path
    name = card["model"]
    target = folder() / stem(name) if isinstance(name, str) and name in names() else path
    if target == path or "model" in (_card(target) or {}):
        raise ValueError(f"expected a shipped model in the alias {path}.json, got {name!r}")
    return target


def _checked(content: dict[str, Any], where: Path, versions: tuple[int, ...]) -> dict[str, Any]:
    if content.get("format") != KEY:
        raise ValueError(f"expected a geomndp model in {where}, got a foreign or damaged file")
    if content.get("version") not in versions or type(content["version"]) is not int:
        known = " or ".join(map(str, versions))
        raise ValueError(
            f"expected model version {known}, got {content.get('version')!r:.80} in {where}"
        )
    if not isinstance(content.get("metadata"), dict):
        raise ValueError(f"expected metadata in {where}, got {content.get('metadata')!r:.80}")
    if not isinstance(content.get("sha256", ""), str):
        raise ValueError(f"expected a checksum in {where}, got {content['sha256']!r:.80}")
    return content


def add_class(tag: str, cls: type) -> None:
    """Register a class under a tag; a class of the same path (a cell run again) replaces itself."""
    if not isinstance(tag, str) or not _TAG.fullmatch(tag):
        raise ValueError(f"expected a tag such as 'net/my-net', got {tag!r}")
    if not isinstance(cls, type):
        raise ValueError(f"expected a class for {tag}, got {cls!r}")
    known = _CLASSES.get(tag)
    if known is not None and _path(known) != _path(cls):
        raise ValueError(f"expected a tag of its own for {_path(cls)}, got that of {_path(known)}")
    if _TAGS.get(cls, tag) != tag:
        raise ValueError(f"expected one tag for {_path(cls)}, got {_TAGS[cls]} and {tag}")
    _CLASSES[tag], _TAGS[cls] = cls, tag


def tagged(tag: str) -> Callable[[_Class], _Class]:
    """Class decorator: the name of the class in model files."""

    def decorate(cls: _Class) -> _Class:
        add_class(tag, cls)
        return cls

    return decorate


def tag_of(cls: type) -> str | None:
    """Tag of a class, None if it has none."""
    return _TAGS.get(cls)


def class_of(tag: str) -> type | None:
    """Class under a tag, None if there is none."""
    if tag not in _CLASSES and tag in MODULES:
        import_module(MODULES[tag])
    return _CLASSES.get(tag)


def tags(role: str) -> list[str]:
    """All tags of a role."""
    return sorted(tag for tag in _CLASSES if tag.startswith(f"{role}/"))


def _path(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"
