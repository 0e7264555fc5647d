"""Arguments that a part of a model is made from: names, types, and which of them must be there."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from typing import Any

from geomndp.nets.configured import Configured


def arguments(cls: type) -> dict[str, Any]:
    """Type of each argument that a part is made from; of a network, its configuration's."""
    holder = _holder(cls)
    return {f.name: _annotation(holder, f.name) for f in dataclasses.fields(holder) if f.init}


def _holder(cls: type) -> type:
    """The class whose constructor has the arguments of a part."""
    return cls.config_type if issubclass(cls, Configured) else cls


def _annotation(cls: type, name: str) -> Any:
    """Type of a field; Any where the annotation cannot be read."""
    for base in cls.__mro__:
        hint = inspect.get_annotations(base).get(name)
        if isinstance(hint, str):
            try:
                return eval(hint, vars(sys.modules[base.__module__]))  # of the class, not the file
            except Exception:
                return Any
        if hint is not None:
            return hint
    return Any


def required(cls: type) -> list[str]:
    """Arguments without a default."""
    known = inspect.signature(_holder(cls)).parameters.values()
    return [parameter.name for parameter in known if parameter.default is parameter.empty]
