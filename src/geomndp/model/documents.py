"""Models as documents (JSON) and tensors, and back after everything about them was checked.

A `Model` here; other types, whose documents have a `type`, in `process_documents`.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import nets, score
from geomndp._safetensors import Contents
from geomndp.gp import AbstractGP
from geomndp.model.base import AbstractModel
from geomndp.model.model import Model
from geomndp.model.part_documents import describe
from geomndp.model.parts import options_of, rebuild, sentence, value_of
from geomndp.model.tensors import (
    FLOATS,
    STORED,
    check_sizes,
    float_dtype,
    parameters,
    read_arrays,
    restore,
    round_to,
)

PARTS = ("normaliser", "variables", "support")
_REQUIRED = ("t_min", "noising", "net", "parametrisation", "conditional")
_OPTIONAL = ("dtype", "stored_dtype", "base")
_BASE = "base"
Arrays = dict[str, np.ndarray]


def encode(model: AbstractModel, dtype: str | None = None) -> tuple[dict[str, Any], Arrays]:
    """Document and tensors of a model; parameters of networks are stored as `dtype`."""
    if isinstance(model, Model):
        return _encode_network(model, dtype)
    from geomndp.model import process_documents  # which encodes their members by this function

    return process_documents.encode_process(model, dtype)


def decode(document: dict[str, Any], contents: Contents) -> Any:
    """Check a document of version 3 field by field, then make the model."""
    if "type" not in document:
        return _network_model(document, contents)
    from geomndp.model import process_documents

    return process_documents.decode_process(document, contents)


def learnt_score(model: Model) -> score.NetworkScore:
    """The score of a model that can be saved."""
    learnt = model.score
    if not isinstance(learnt, score.NetworkScore) or not isinstance(learnt.net, nets.AbstractNet):
        raise ValueError("expected a model with a NetworkScore of geomndp.nets to save")
    return learnt


def _encode_network(model: Model, dtype: str | None) -> tuple[dict[str, Any], Arrays]:
    """Everything but the parameters, and the tensors; parameters are stored as `dtype`."""
    learnt, arrays = learnt_score(model), {}
    assert isinstance(learnt.net, nets.AbstractNet)
    tensors = parameters(learnt.net)
    own_dtype = float_dtype(tensors)
    stored = own_dtype if dtype is None else dtype
    document = {
        "t_min": model.t_min,
        "noising": describe(model.noising, arrays, "noising"),
        "net": describe(learnt.net),
        "parametrisation": describe(learnt.parametrisation),
        "conditional": learnt.conditional,
        "dtype": own_dtype,
        "stored_dtype": stored,
        **describe_parts(model),
    }
    if learnt.base is not None:
        document[_BASE] = describe(learnt.base, arrays, _BASE)
    return document, round_to(tensors, stored) | arrays


def describe_parts(model: AbstractModel) -> dict[str, Any]:
    """Normaliser, names, record of training and report of any model."""
    parts = {name: getattr(model, name) for name in PARTS}
    described = {name: None if part is None else describe(part) for name, part in parts.items()}
    return described | ({} if model.report is None else {"report": model.report})


def read_parts(document: dict[str, Any]) -> dict[str, Any]:
    """What `describe_parts` wrote, as arguments of a model."""
    report = document.get("report")
    if report is not None and not isinstance(report, str):
        raise ValueError(f"expected text for report, got {report!r:.80}")
    parts = {
        role: None if (part := document.get(role)) is None else rebuild(role, part, role)
        for role in PARTS
    }
    return parts | {"report": report}


def _network_model(document: dict[str, Any], contents: Contents) -> Model:
    check_keys(document, _REQUIRED, (*_OPTIONAL, *PARTS, "report"))
    for name, allowed in (("dtype", FLOATS), ("stored_dtype", STORED)):
        if document.get(name) is not None and document[name] not in allowed:
            raise ValueError(f"expected {name} of {allowed}, got {document[name]!r:.80}")
    t_min = value_of("t_min", document["t_min"], float)
    conditional = value_of("conditional", document["conditional"], bool)
    parametrisation = rebuild("parametrisation", document["parametrisation"], "parametrisation")
    arrays, contents = read_arrays(document["noising"], contents)
    noising = rebuild("noising", document["noising"], "noising", tensors=arrays)
    parts = read_parts(document)
    options: dict[str, Any] = {"conditional": conditional}
    if document.get(_BASE) is not None:
        arrays, contents = read_arrays(document[_BASE], contents)
        options[_BASE] = rebuild(_BASE, document[_BASE], "process", tensors=arrays)
        if not isinstance(options[_BASE], AbstractGP):
            raise ValueError(f"expected a Gaussian process for base, got {document[_BASE]!r:.80}")
    net = _network(document, contents)
    model = Model(noising, score.NetworkScore(net, parametrisation, **options), t_min, **parts)
    _check_fit(model, net)
    return model


def check_keys(
    document: dict[str, Any], required: tuple[str, ...], optional: tuple[str, ...]
) -> None:
    """Refuse a document with other keys than these."""
    if unknown := sorted(set(document) - {*required, *optional}):
        raise ValueError(f"expected a model's document, got the key {unknown[0]!r:.80}")
    if missing := [name for name in required if name not in document]:
        raise ValueError(f"expected {missing[0]} in a model's document, got none")


def _network(document: dict[str, Any], contents: Contents) -> nets.AbstractNet:
    """The network with its parameters."""
    options = options_of("net", document["net"], "net")
    check_sizes(options, contents.tensors)
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
    if model.variables is not None and model.variables.input_dim != net.input_dim:
        got = model.variables.input_dim
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
        t, y = jnp.zeros(()), jnp.zeros((2, model.noising.dim))
        if isinstance(model.score, score.NetworkScore) and model.score.base is not None:
            eqx.filter_eval_shape(model.score.net_inputs, model.noising, t, x, y)
    except Exception as error:
        what = f"a noising of functions of {input_dim} inputs"
        raise ValueError(f"expected {what}, got: {sentence(error)}") from error
