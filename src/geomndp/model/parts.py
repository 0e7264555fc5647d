"""Parts of a model from JSON: registered classes of plain fields and arrays, nothing else.

The type of every field is read from the annotations of its class, so that a class of a user is
checked as one of the package is. Arrays stand beside the JSON, as tensors under the path of their
field. Loading never runs code that a file brings.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any, Literal, Union, get_args, get_origin

import equinox as eqx
import jax
import jax.random as jr
import numpy as np

from geomndp import _model_files
from geomndp.model.registered import ROLES
from geomndp.model.tensors import check_sizes, in_full_precision, with_parameters
from geomndp.nets.base import Configured

MAX_DEPTH = 16
MAX_ITEMS = 256
MAX_TEXT = 1000
MAX_INTEGER = 1_000_000
MAX_NUMBER = 1e30


Tensors = Mapping[str, np.ndarray]
"""Arrays of parts by the paths of their fields, such as `process.kernel.covariance`."""
TENSOR, PARAMETERS = "tensor", "parameters"


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


def class_at(where: str, config: Any, role: str | None) -> type:
    """Class that a part of a document names, of a role that fits its place."""
    if not isinstance(config, dict) or not isinstance(config.get("kind"), str):
        raise ValueError(f"expected a part with its kind for {where}, got {config!r:.80}")
    kind = config["kind"]
    cls = _model_files.class_of(kind)
    if cls is None or (role is not None and not kind.startswith(f"{role}/")):
        known = ", ".join(_model_files.tags(role)) if role else "registered"
        raise ValueError(
            f"expected a known part ({known}) for {where} in the model file, got {kind!r:.80}; "
            "own classes are registered by gn.register before loading"
        )
    return cls


def options_of(
    where: str, config: Any, role: str | None, depth: int = 0, tensors: Tensors | None = None
) -> dict[str, Any]:
    """Checked arguments of the part that a document describes."""
    cls = class_at(where, config, role)
    hints = arguments(cls)
    options = {name: value for name, value in config.items() if name != "kind"}
    if unknown := sorted(set(options) - set(hints)):
        raise ValueError(f"expected {_listed(hints)} for {where}, got {unknown[0]!r:.80}")
    # Options that came later have defaults, with which older files stay what they were.
    if missing := [name for name in required(cls) if name in hints and name not in options]:
        raise ValueError(f"expected {missing[0]} for {where}, got none")
    return {
        name: value_of(f"{where}.{name}", value, hints[name], depth + 1, tensors)
        for name, value in options.items()
    }


def rebuild(
    where: str, config: Any, role: str | None, depth: int = 0, tensors: Tensors | None = None
) -> Any:
    """Part that a document describes, with its arrays from `tensors`."""
    cls = class_at(where, config, role)
    if issubclass(cls, Configured) and tensors is not None:
        return _network(where, config, role, depth, tensors)
    options = options_of(where, config, role, depth, tensors)
    try:
        return cls(**options)
    except Exception as error:
        raise ValueError(f"expected a valid {where}, got: {sentence(error)}") from error


def _network(where: str, config: dict, role: str | None, depth: int, tensors: Tensors) -> Any:
    """A module that is made from its configuration, with the parameters of the document."""
    named = config.get(PARAMETERS)
    if not isinstance(named, dict):
        raise ValueError(f"expected parameters for {where}, got {named!r:.80}")
    given = {path: _tensor(f"{where}{path}", value, tensors) for path, value in named.items()}
    plain = {name: value for name, value in config.items() if name != PARAMETERS}
    options = options_of(where, plain, role, depth)
    check_sizes(options, given)
    make = functools.partial(class_at(where, config, role), **options, key=jr.key(0))
    try:
        with jax.enable_x64(True):  # the configuration says of which dtype the parameters are
            shapes = eqx.filter_eval_shape(make)
    except Exception as error:
        raise ValueError(f"expected a valid {where}, got: {sentence(error)}") from error
    return with_parameters(shapes, given)


def value_of(
    where: str, value: Any, hint: Any, depth: int = 0, tensors: Tensors | None = None
) -> Any:
    """Value of a field, refused if it is not of the type `hint`."""
    if depth > MAX_DEPTH:
        raise ValueError(f"expected parts nested at most {MAX_DEPTH} deep, got deeper at {where}")
    fitting = [option for option in _options(hint) if _fits(value, option)]
    if not fitting:
        words = " or ".join(_word(option) for option in _options(hint))
        raise ValueError(f"expected {words} for {where}, got {value!r:.80}")
    if _is_array(fitting[0]):
        return in_full_precision(where, _tensor(where, value, tensors))
    if isinstance(value, dict):
        return _part_of(where, value, fitting[0], depth, tensors)
    if isinstance(value, list):
        items = get_args(fitting[0]) or (Any, ...)
        if len(value) > MAX_ITEMS or (... not in items and len(items) != len(value)):
            raise ValueError(f"expected {_word(fitting[0])} for {where}, got {len(value)} items")
        each = items[:1] * len(value) if ... in items else items
        pairs = enumerate(zip(value, each, strict=True))
        return tuple(value_of(f"{where}.{i}", v, h, depth + 1, tensors) for i, (v, h) in pairs)
    _check_size(where, value)
    return float(value) if fitting[0] is float else value


def _part_of(where: str, value: dict, hint: Any, depth: int, tensors: Tensors | None) -> Any:
    """A part of a part, of the class that the field wants."""
    part = rebuild(where, value, _role(hint), depth, tensors)
    if isinstance(hint, type) and not isinstance(part, hint):
        raise ValueError(f"expected {hint.__name__} for {where}, got {value['kind']!r:.80}")
    return part


def _tensor(where: str, value: dict, tensors: Tensors | None) -> np.ndarray:
    """The array of a field: that under its own path, and no other."""
    if value != {TENSOR: where} or tensors is None or where not in tensors:
        raise ValueError(f"expected the tensor {where}, got {value!r:.80}")
    return tensors[where]


def _is_array(hint: Any) -> bool:
    """Whether a type is one of arrays, plain or of jaxtyping."""
    return hint in (jax.Array, np.ndarray) or hasattr(hint, "array_type")


def sentence(error: Exception) -> str:
    """What an error says, on one line of a readable length."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 200 else f"{text[:200]}..."


def _check_size(where: str, value: Any) -> None:
    if isinstance(value, str) and len(value) > MAX_TEXT:
        raise ValueError(f"expected at most {MAX_TEXT} letters for {where}, got {len(value)}")
    if isinstance(value, float) and not abs(value) <= MAX_NUMBER:
        raise ValueError(f"expected a finite number for {where}, got {value!r:.80}")
    if isinstance(value, int) and abs(value) > MAX_INTEGER:
        raise ValueError(f"expected at most {MAX_INTEGER} for {where}, got {value!r:.80}")


def _options(hint: Any) -> tuple[Any, ...]:
    """Members of a union."""
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def _fits(value: Any, hint: Any) -> bool:
    """Whether a JSON value is of a type, but for what is inside it."""
    if hint is None or hint is type(None):
        return value is None
    if hint is Any:
        return True
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if isinstance(value, dict):
        return _is_array(hint) if TENSOR in value else _role(hint) is not None
    if isinstance(value, list):
        return hint is tuple or get_origin(hint) is tuple
    if isinstance(value, bool) or hint is bool:
        return isinstance(value, bool) and hint is bool
    allowed = {float: (float, int), int: (int,), str: (str,)}
    return hint in allowed and isinstance(value, allowed[hint])


def _role(hint: Any) -> str | None:
    """Role of the parts that may stand for a type."""
    if get_origin(hint) is Callable or hint is Callable:
        return "mean"
    if not isinstance(hint, type):
        return None
    bases = ((role, base) for role, base in ROLES.items() if role != "mean")
    return next((role for role, base in bases if issubclass(hint, base)), None)


def _word(hint: Any) -> str:
    if hint is None or hint is type(None):
        return "null"
    return _role(hint) or getattr(hint, "__name__", str(hint))


def _listed(hints: dict[str, Any]) -> str:
    return ", ".join(hints) or "no arguments"
