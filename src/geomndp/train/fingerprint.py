"""Fingerprints of runs: all settings, and all arrays by their digest, as text to compare.

Two runs are the same if all of it is: then, and only then, one may resume what the other began. A
function with a name is known by that name, a lambda by its code, both with all that they enclose:
so an optax optimiser, which is made of closures, is known by its settings.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import re
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

FEW = 4  # so many numbers are shown as they are, more by their digest
SHOWN = 3  # differences that a message names
FROM_OTHERS = "from others"
"""In the metadata of a field: it follows from the other settings of a run, and is not looked at."""


def fingerprint(value: Any) -> dict[str, str]:
    """Describe every part of a value.

    Args:
        value: Any value: modules, arrays, functions with their closures, ...

    Returns:
        Path of a part, such as `functions.x`, to its description.
    """
    return dict(_parts(value, "", ()))


def describe_array(array: Any) -> str:
    """Describe an array by type, shape and contents.

    Args:
        array: An array, or a random key.

    Returns:
        Text with all numbers if they are few, else with their SHA-256.
    """
    if isinstance(array, jax.Array) and jnp.issubdtype(array.dtype, jax.dtypes.prng_key):
        array = jr.key_data(array)
    array = np.asarray(array)
    if array.size <= FEW or array.dtype == object:
        return f"{array.dtype} {array.shape} {array.tolist()}"
    return f"{array.dtype} {array.shape} sha256 {hashlib.sha256(array.tobytes()).hexdigest()}"


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Compare the settings of two runs.

    Args:
        old: Settings of the run in a folder.
        new: Settings of the run that is to resume it.

    Returns:
        One phrase per setting that differs: its name, and both values.
    """
    return [
        f"{name} ({_difference(old.get(name), new.get(name))})"
        for name in sorted({*old, *new})
        if old.get(name) != new.get(name)
    ]


def _difference(old: Any, new: Any) -> str:
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return f"there {_short(old)}, here {_short(new)}"
    paths = [path for path in {**old, **new} if old.get(path) != new.get(path)]
    changes = [
        f"{_end(path)}: {_difference(old.get(path), new.get(path))}"
        for path in sorted(paths)[:SHOWN]
    ]
    return "; ".join(changes + ["..."] * (len(paths) > SHOWN))


def _short(value: Any) -> str:
    if value is None:
        return "nothing"
    text = re.sub(r"(sha256 \w{8})\w*", r"\1", str(value))
    return text if len(text) <= 60 else text[:60] + "..."


def _end(path: str) -> str:
    """The last parts of a path: those of closures are long."""
    names = path.split(".")
    return ".".join(names[-3:]) or "kind"


def _parts(value: Any, path: str, within: tuple[int, ...]) -> Iterator[tuple[str, str]]:
    """Walk through a value; what encloses itself is not entered again."""
    if id(value) in within:
        return
    name, children = _open(value)
    yield path, name
    for label, child in children:
        yield from _parts(child, f"{path}.{label}" if path else label, (*within, id(value)))


def _open(value: Any) -> tuple[str, list[tuple[str, Any]]]:
    """Words for a value itself, and the labelled values that it holds."""
    if isinstance(value, float) and value.is_integer():
        return repr(int(value)), []  # optax turns whole numbers of its closures into floats
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, np.dtype)):
        return repr(value), []
    if isinstance(value, (type, types.ModuleType)):
        return _name(value), []
    if hasattr(value, "__array__") or isinstance(value, jax.Array):
        return describe_array(value), []
    kind = _name(type(value))
    if isinstance(value, Mapping):
        return kind, [(str(key), value[key]) for key in sorted(value, key=str)]
    if isinstance(value, (set, frozenset)):
        return f"{kind} {sorted(map(repr, value))}", []
    if isinstance(value, (tuple, list)):
        labels = getattr(value, "_fields", map(str, range(len(value))))
        return kind, list(zip(labels, value, strict=True))
    if dataclasses.is_dataclass(value):
        fields = (v.name for v in dataclasses.fields(value) if FROM_OTHERS not in v.metadata)
        return kind, [(name, getattr(value, name, None)) for name in fields]
    return _open_callable(value) if callable(value) else _open_object(value)


def _open_callable(value: Any) -> tuple[str, list[tuple[str, Any]]]:
    if isinstance(value, functools.partial):
        return "partial", [("func", value.func), ("args", value.args), ("keywords", value.keywords)]
    if isinstance(value, types.MethodType):
        return _name(value.__func__), [("self", value.__self__)]
    if _is_importable(value):
        return _name(value), []
    if isinstance(value, types.FunctionType):
        return _open_function(value)
    if hasattr(value, "__wrapped__"):  # of jit, custom_jvp and the like
        return _name(type(value)), [("wrapped", value.__wrapped__)]
    return _open_object(value)


def _open_function(function: types.FunctionType) -> tuple[str, list[tuple[str, Any]]]:
    """A function made by another, or a lambda: with its closure and its defaults."""
    code, name = function.__code__, _name(function)
    if code.co_name == "<lambda>" or function.__module__ == "__main__":
        name = f"{name} sha256 {hashlib.sha256(_code_words(code).encode()).hexdigest()}"
    cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
    held = [(label, _contents(cell)) for label, cell in cells]
    defaults = {**dict(enumerate(function.__defaults__ or ())), **(function.__kwdefaults__ or {})}
    return name, held + [(f"default {label}", defaults[label]) for label in defaults]


def _contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


def _code_words(code: types.CodeType) -> str:
    constants = (
        _code_words(c) if isinstance(c, types.CodeType) else str(fingerprint(c))
        for c in code.co_consts
    )
    return f"{code.co_code.hex()} {code.co_names} {[*constants]}"


def _open_object(value: Any) -> tuple[str, list[tuple[str, Any]]]:
    """Any other object: as it prints, or, if it prints its address, by its attributes."""
    text = repr(value)
    if re.search(r"\bat 0x[0-9a-f]+", text) is None:
        return " ".join(text.split()), []
    return _name(type(value)), sorted(getattr(value, "__dict__", {}).items())


def _name(value: Any) -> str:
    module = getattr(value, "__module__", None)
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", type(value).__name__)
    return f"{module}.{name}" if module else name


def _is_importable(value: Any) -> bool:
    """Whether module and name lead to this very object."""
    module = getattr(value, "__module__", None)
    if module is None or module == "__main__":
        return False
    obj = sys.modules.get(module)
    for part in (getattr(value, "__qualname__", None) or "?").split("."):
        obj = getattr(obj, part, None)
    return obj is value
