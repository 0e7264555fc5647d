"""Tensors of a model file: parameters of networks by their paths, checked against shapes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from geomndp import _validation
from geomndp._safetensors import Contents

FLOATS = ("float32", "float64")
HALVES = ("float16", "bfloat16")
STORED = (*HALVES, *FLOATS)
_CODES = {
    "bfloat16": "BF16",
    "float16": "F16",
    "float32": "F32",
    "float64": "F64",
    "int32": "I32",
    "int64": "I64",
    "uint8": "U8",
    "bool": "BOOL",
}


def parameters(net: Any) -> dict[str, np.ndarray]:
    """Arrays of a network by their paths."""
    leaves = jax.tree_util.tree_leaves_with_path(eqx.filter(net, eqx.is_array))
    return {jax.tree_util.keystr(key): np.asarray(leaf) for key, leaf in leaves}


def float_dtype(tensors: dict[str, np.ndarray]) -> str:
    """The one dtype of all parameters that are floats."""
    dtypes = {v.dtype.name for v in tensors.values() if jnp.issubdtype(v.dtype, jnp.floating)}
    if len(dtypes) != 1 or not dtypes <= set(FLOATS):
        raise ValueError(f"expected parameters of one dtype of {FLOATS}, got {sorted(dtypes)}")
    return dtypes.pop()


def round_to(tensors: dict[str, np.ndarray], dtype: str) -> dict[str, np.ndarray]:
    """Floats in another dtype; refused where they are not finite in it."""
    _validation.one_of("dtype", dtype, STORED)
    result = {}
    for name, value in tensors.items():
        if jnp.issubdtype(value.dtype, jnp.floating):
            with np.errstate(over="ignore"):
                value = value.astype(jnp.dtype(dtype))
            _check_finite(name, value, dtype)
        result[name] = np.asarray(value, order="C")
    return result


def check_sizes(options: dict[str, Any], tensors: Mapping[str, Any]) -> None:
    """Refuse a network that cannot have so few parameters, before any of it is made.

    Every layer has a tensor, and every width at least as many values.
    """
    values = sum(_size(tensor) for tensor in tensors.values())
    for name, value in options.items():
        layers = any(word in name for word in ("layer", "block", "depth"))
        most = len(tensors) if layers else values
        if type(value) is int and name != "max_neighbours" and value > most:
            held = f"{len(tensors)} tensors of {values} values"
            raise ValueError(f"expected a network of {held}, got {name} = {value}")


def restore(net: Any, contents: Contents, dtype: str | None, stored: str | None) -> Any:
    """A network of shapes with the stored parameters, whose names and shapes must be its own.

    `stored` is the dtype of floats in the file and `dtype` that of the network; without them the
    file decides.
    """
    shapes = {
        jax.tree_util.keystr(key): leaf
        for key, leaf in jax.tree_util.tree_leaves_with_path(net)
        if isinstance(leaf, jax.ShapeDtypeStruct)
    }
    _check_names(set(shapes), set(contents.tensors))
    codes = {t.dtype for t in contents.tensors.values() if _is_float(t.dtype)}
    if stored is None and len(codes) != 1:
        raise ValueError(f"expected parameters of one dtype, got {sorted(codes)}")
    code = codes.pop() if stored is None else _CODES[stored]
    values = {name: _value(name, leaf, contents, code, dtype) for name, leaf in shapes.items()}

    def restore(key, leaf):
        shaped = isinstance(leaf, jax.ShapeDtypeStruct)
        return jnp.asarray(values[jax.tree_util.keystr(key)]) if shaped else leaf

    return jax.tree_util.tree_map_with_path(restore, net)


def with_parameters(shapes: Any, given: Mapping[str, np.ndarray]) -> Any:
    """A module of shapes with given parameters, whose names, shapes and types must be its own.

    Parameters that were stored in half precision come back in the module's.
    """
    leaves = jax.tree_util.tree_leaves_with_path(shapes)
    own = {
        jax.tree_util.keystr(path): leaf
        for path, leaf in leaves
        if isinstance(leaf, jax.ShapeDtypeStruct)
    }
    _check_names(set(own), set(given))
    for name, leaf in own.items():
        got = given[name]
        if got.shape != leaf.shape or got.dtype.name not in (leaf.dtype.name, *HALVES):
            wanted = f"{name} of shape {leaf.shape} and dtype {leaf.dtype}"
            raise ValueError(f"expected {wanted}, got shape {got.shape} and dtype {got.dtype}")

    def fill(path, leaf):
        known = given.get(jax.tree_util.keystr(path))
        return leaf if known is None else jnp.asarray(known.astype(leaf.dtype))

    with jax.enable_x64(True):  # the dtypes are those of the file, whatever JAX's default is
        return jax.tree_util.tree_map_with_path(fill, shapes)


def read_arrays(
    part: Any, contents: Contents, allowed: tuple[str, ...] = FLOATS
) -> tuple[dict[str, np.ndarray], Contents]:
    """Arrays to which a part of a document refers, by name, and the contents without them.

    Their dtypes must be `allowed`.
    """
    names = _references(part)
    if missing := sorted(names - set(contents.tensors)):
        raise ValueError(f"expected the tensor {missing[0]:.80}, got none ({len(missing)} missing)")
    arrays = {}
    for name in names:
        tensor = contents.tensors[name]
        dtype = {code: dtype for dtype, code in _CODES.items()}[tensor.dtype]
        if dtype not in allowed:
            raise ValueError(f"expected {name:.80} of {allowed}, got {dtype}")
        value = np.frombuffer(contents.data[tensor.start : tensor.end], jnp.dtype(dtype))
        _check_finite(name, value, dtype)
        arrays[name] = value.reshape(tensor.shape)
    others = {name: tensor for name, tensor in contents.tensors.items() if name not in names}
    return arrays, contents._replace(tensors=others)


def in_full_precision(where: str, array: np.ndarray) -> np.ndarray:
    """An array of a field; parameters of networks alone may be stored in half precision."""
    if array.dtype.name not in FLOATS:
        raise ValueError(f"expected {where:.80} of {FLOATS}, got {array.dtype.name}")
    return array


def _references(part: Any) -> set[str]:
    """Names of the tensors that a part of a document has."""
    if isinstance(part, dict):
        name = part.get("tensor")
        own = {name} if isinstance(name, str) else set()
        return own.union(*map(_references, part.values()))
    return set().union(*map(_references, part)) if isinstance(part, list) else set()


def _check_names(expected: set[str], names: set[str]) -> None:
    if missing := sorted(expected - names):
        raise ValueError(f"expected the tensor {missing[0]}, got none ({len(missing)} missing)")
    if extra := sorted(names - expected):
        got = f"{extra[0]:.80} ({len(extra)} more than the network has)"
        raise ValueError(f"expected tensors of the network, got {got}")


def _value(name: str, leaf: jax.ShapeDtypeStruct, contents: Contents, code: str, dtype) -> Any:
    """One tensor in the network's dtype."""
    tensor = contents.tensors[name]
    floats = jnp.issubdtype(leaf.dtype, jnp.floating)
    expected = code if floats else _CODES.get(np.dtype(leaf.dtype).name)
    if tensor.shape != leaf.shape or tensor.dtype != expected:
        wanted = f"{name} of shape {leaf.shape} and dtype {expected}"
        raise ValueError(f"expected {wanted}, got shape {tensor.shape} and dtype {tensor.dtype}")
    name_of = {code: name for name, code in _CODES.items()}
    own_dtype = jnp.dtype(name_of[tensor.dtype])
    value = np.frombuffer(contents.data[tensor.start : tensor.end], own_dtype)
    _check_finite(name, value, own_dtype.name)
    return value.reshape(tensor.shape).astype(dtype if floats and dtype else own_dtype)


def _check_finite(name: str, value: np.ndarray, dtype: str) -> None:
    if not np.all(np.isfinite(value)):
        raise ValueError(f"expected finite parameters, got NaN or infinity in {name} as {dtype}")


def _is_float(code: str) -> bool:
    return code in {_CODES[name] for name in STORED}


def _size(tensor: Any) -> int:
    return int(np.prod(tensor.shape, dtype=np.int64))
