"""Classes that model files may name, each by a stable tag `role/name`.

A tag is not a Python path: a class may move and keep its tag, so that files stay readable. Loading
looks tags up in this table and never imports anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

_Class = TypeVar("_Class", bound=type)
_TAG = re.compile(r"[a-z][a-z-]*/[a-z0-9][a-z0-9.-]*")
_CLASSES: dict[str, type] = {}
_TAGS: dict[type, str] = {}


def add(tag: str, cls: type) -> None:
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
        add(tag, cls)
        return cls

    return decorate


def tag_of(cls: type) -> str | None:
    """Tag of a class, None if it has none."""
    return _TAGS.get(cls)


def class_of(tag: str) -> type | None:
    """Class under a tag, None if there is none."""
    return _CLASSES.get(tag)


def tags(role: str) -> list[str]:
    """All tags of a role."""
    return sorted(tag for tag in _CLASSES if tag.startswith(f"{role}/"))


def _path(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"
