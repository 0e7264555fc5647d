"""A model as a document (JSON) and tensors, and back after everything about them was checked."""

from __future__ import annotations

import json
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _pretrained, _validation, nets, score
from geomndp._safetensors import Contents, Tensor
from geomndp.model.model import Model
from geomndp.model.parts import describe, options_of, rebuild, sentence, value_of

MAX_DESCRIPTION = 64 * 2**10
"""Bytes of a document without its metadata."""
FLOATS = ("float32", "float64")
STORED = ("float16", "bfloat16", *FLOATS)
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
_REQUIRED = ("t_min", "noising", "net", "parametrisation", "conditional")
_PARTS = ("normaliser", "variables", "support")
_OPTIONAL = ("dtype", "stored_dtype", *_PARTS)
_FRAME = ("format", "version", "sha256", "metadata")


def learnt_score(model: Model) -> score.NetworkScore:
    """The score of a model that can be saved."""
    learnt = model.score
    if not isinstance(learnt, score.NetworkScore) or not isinstance(learnt.net, nets.AbstractNet):
        raise ValueError("expected a model with a NetworkScore of geomndp.nets to save")
    return learnt


def to_document(model: Model, dtype: str, stored: str) -> dict[str, Any]:
    """Everything but the parameters, which are of `dtype` and written as `stored`."""
    learnt = learnt_score(model)
    assert isinstance(learnt.net, nets.AbstractNet)
    parts = {name: getattr(model, name) for name in _PARTS}
    return {
        "format": _pretrained.KEY,
        "version": _pretrained.VERSION,
        "t_min": model.t_min,
        "noising": describe(model.noising),
        "net": describe(learnt.net),
        "parametrisation": describe(learnt.parametrisation),
        "conditional": learnt.conditional,
        "dtype": dtype,
        "stored_dtype": stored,
        **{name: None if part is None else describe(part) for name, part in parts.items()},
    }


def from_document(document: dict[str, Any], contents: Contents) -> Model:
    """Check a document of version 3 field by field, then make the model."""
    _check_frame(document)
    t_min = value_of("t_min", document["t_min"], float)
    conditional = value_of("conditional", document["conditional"], bool)
    parametrisation = rebuild("parametrisation", document["parametrisation"], "parametrisation")
    noising = rebuild("noising", document["noising"], "noising")
    parts = {
        role: None if (part := document.get(role)) is None else rebuild(role, part, role)
        for role in _PARTS
    }
    net = _network(document, contents)
    learnt = score.NetworkScore(net, parametrisation, conditional=conditional)
    model = Model(noising, learnt, t_min, **parts)
    _check_fit(model, net)
    return model


def _check_frame(document: dict[str, Any]) -> None:
    known = {*_REQUIRED, *_OPTIONAL, *_FRAME}
    if unknown := sorted(set(document) - known):
        raise ValueError(f"expected a model's document, got the key {unknown[0]!r:.80}")
    if missing := [name for name in _REQUIRED if name not in document]:
        raise ValueError(f"expected {missing[0]} in a model's document, got none")
    described = {name: value for name, value in document.items() if name != "metadata"}
    if (size := len(json.dumps(described))) > MAX_DESCRIPTION:
        raise ValueError(f"expected at most {MAX_DESCRIPTION} bytes of description, got {size}")
    for name, allowed in (("dtype", FLOATS), ("stored_dtype", STORED)):
        if document.get(name) is not None and document[name] not in allowed:
            raise ValueError(f"expected {name} of {allowed}, got {document[name]!r:.80}")


def _network(document: dict[str, Any], contents: Contents) -> nets.AbstractNet:
    """The network with its parameters."""
    options = options_of("net", document["net"], "net")
    check_sizes(options, contents)
    config = {"kind": document["net"]["kind"], **options}
    try:
        # Shapes only: to draw parameters that are then replaced takes seconds.
        shapes = eqx.filter_eval_shape(nets.build, config, key=jr.key(0))
    except Exception as error:
        raise ValueError(f"expected a valid net, got: {sentence(error)}") from error
    return restore(shapes, contents, document.get("dtype"), document.get("stored_dtype"))


def _check_fit(model: Model, net: nets.AbstractNet) -> None:
    """Refuse parts that do not belong together."""
    if model.noising.dim != net.output_dim:
        raise ValueError(f"expected a noising of {net.output_dim} outputs, got {model.noising.dim}")
    _check_calls(model, net.input_dim)
    counts = {"x": net.input_dim, "y": net.output_dim}
    if model.variables is not None and len(model.variables.inputs) != net.input_dim:
        got = len(model.variables.inputs)
        raise ValueError(f"expected names of {net.input_dim} inputs, got {got}")
    support = model.support
    if support and (len(support.inputs), len(support.outputs)) != tuple(counts.values()):
        raise ValueError(
            f"expected ranges of {tuple(counts.values())} inputs and outputs, got others"
        )
    if model.normaliser is not None:
        for field in ("x_shift", "x_scale", "y_shift", "y_scale"):
            if len(getattr(model.normaliser, field)) not in (1, counts[field[0]]):
                raise ValueError(f"expected one {field} or {counts[field[0]]}, got others")
        if len(model.normaliser.transform) not in (0, 1, net.output_dim):
            raise ValueError(f"expected one transform or {net.output_dim}, got others")


def _check_calls(model: Model, input_dim: int) -> None:
    """Refuse a kernel or a mean that does not take inputs of so many dimensions."""
    x = jnp.zeros((2, input_dim))
    try:
        eqx.filter_eval_shape(model.noising.mean_at, x)
        eqx.filter_eval_shape(model.noising.kernel, x[0], x[1])
    except Exception as error:
        what = f"a noising of functions of {input_dim} inputs"
        raise ValueError(f"expected {what}, got: {sentence(error)}") from error


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
        result[name] = np.ascontiguousarray(value)
    return result


def check_sizes(options: dict[str, Any], contents: Contents) -> None:
    """Refuse a network that cannot have so few parameters, before any of it is made.

    Every layer has a tensor, and every width at least as many values.
    """
    values = sum(_size(tensor) for tensor in contents.tensors.values())
    for name, value in options.items():
        layers = any(word in name for word in ("layer", "block", "depth"))
        most = len(contents.tensors) if layers else values
        if type(value) is int and name != "max_neighbours" and value > most:
            held = f"{len(contents.tensors)} tensors of {values} values"
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


def _size(tensor: Tensor) -> int:
    return int(np.prod(tensor.shape, dtype=np.int64))
