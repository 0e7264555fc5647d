"""A model as a document (JSON), and back after everything about it was checked."""

from __future__ import annotations

import json
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr

from geomndp import _pretrained, nets, score
from geomndp._safetensors import Contents
from geomndp.model.model import Model
from geomndp.model.parts import describe, options_of, rebuild, sentence, value_of
from geomndp.model.tensors import FLOATS, STORED, check_sizes, restore

MAX_DESCRIPTION = 64 * 2**10
"""Bytes of a document without its metadata."""
_REQUIRED = ("t_min", "noising", "net", "parametrisation", "conditional")
_PARTS = ("normaliser", "variables", "support")
_OPTIONAL = ("dtype", "stored_dtype", "report", *_PARTS)
_FRAME = ("format", "version", "sha256", "metadata")


def learnt_score(model: Model) -> score.NetworkScore:
    """The score of a model that can be saved."""
    learnt = model.score
    if not isinstance(learnt, score.NetworkScore) or not isinstance(learnt.net, nets.AbstractNet):
        raise ValueError("expected a model with a NetworkScore of geomndp.nets to save")
    if learnt.base is not None:
        raise ValueError("expected a score without a base to save, got a corrected process")
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
        **({} if model.report is None else {"report": model.report}),
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
    model = Model(noising, learnt, t_min, **parts, report=read_report(document))
    _check_fit(model, net)
    return model


def read_report(document: dict[str, Any]) -> str | None:
    """Text that a model carries along, None if it has none."""
    report = document.get("report")
    if report is not None and not isinstance(report, str):
        raise ValueError(f"expected text for report, got {report!r:.80}")
    return report


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
