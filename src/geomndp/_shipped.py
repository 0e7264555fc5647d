"""Model documents: the JSON beside a model's parameters. Plain Python, so that listing is fast."""

from __future__ import annotations

import json
import os
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path

VERSION = 1
SUFFIXES = (".json", ".safetensors")


def folder() -> Path:
    """Where the models that come with the package lie."""
    return Path(str(files("geomndp"))) / "shipped"


def names() -> list[str]:
    """Names of the models that come with the package."""
    root = folder()
    documents = (path.relative_to(root) for path in root.rglob("[!.]*.json"))
    return sorted(path.with_suffix("").as_posix() for path in documents)


def stem(path: str | os.PathLike) -> Path:
    """Path of a model without the ending of one of its files."""
    path = Path(path)
    return path.with_suffix("") if path.suffix in SUFFIXES else path


def sibling(path: Path, suffix: str) -> Path:
    """One of the two files of a model."""
    return path.with_name(path.name + suffix)


def find(name: str | os.PathLike) -> Path:
    """Stem of a model given by path, by the folder of its training or by its shipped name."""
    for path in (stem(name), Path(name) / "model", folder() / stem(name)):
        if sibling(path, ".json").is_file():
            return path
    text = os.fspath(name)
    near = ", ".join(get_close_matches(text, names(), n=3, cutoff=0.0)) or "none"
    raise ValueError(f"expected a model file or a shipped name ({near}, ...), got {text!r}")


def document(path: Path) -> dict:
    """Contents of a model's JSON, refused if foreign or of another version."""
    try:
        content = json.loads(sibling(path, ".json").read_bytes())
        foreign = content["format"] != "geomndp"
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError):
        foreign, content = True, {}
    if foreign:
        raise ValueError(f"expected a geomndp model in {path}.json, got a foreign or damaged file")
    if content["version"] != VERSION:
        raise ValueError(
            f"expected model version {VERSION}, got {content['version']} in {path}.json"
        )
    return content


def metadata(name: str | os.PathLike) -> dict:
    """What was noted when the model was made: protocol, seed, steps, measured metrics."""
    return document(find(name))["metadata"]
