"""Processes, mixtures and laws of tracks as documents and tensors, and back.

The key `type` tells them apart. Arrays of the i-th member of a mixture have the prefix
`members.i/`, those of the law in a track's map `flat/`.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp._safetensors import Contents
from geomndp.model.base import AbstractModel
from geomndp.model.chart_model import ChartModel
from geomndp.model.documents import (
    PARTS,
    Arrays,
    check_keys,
    decode,
    describe_parts,
    encode,
    read_parts,
)
from geomndp.model.mixture import MixtureProcess
from geomndp.model.part_documents import describe
from geomndp.model.parts import rebuild, sentence, value_of
from geomndp.model.process_calls import density
from geomndp.model.process_model import ProcessModel
from geomndp.model.tensors import STORED, read_arrays, round_to

MAX_MEMBERS = 32
"""Of a mixture in a file; a fit makes at most four laws of seven components each."""


def encode_process(model: AbstractModel, dtype: str | None) -> tuple[dict[str, Any], Arrays]:
    """Document and tensors of a model; parameters of networks are stored as `dtype`."""
    if isinstance(model, MixtureProcess):
        return _encode_mixture(model, dtype)
    if isinstance(model, ChartModel):
        return _encode_chart(model, dtype)
    if not isinstance(model, ProcessModel):
        name = type(model).__name__
        known = "a Model, ProcessModel, MixtureProcess or ChartModel"
        raise ValueError(f"expected {known} to save, got {name}")
    if dtype is not None and not model.learnt:
        raise ValueError(f"expected a network to store as {dtype}, got {type(model).__name__}")
    tensors: Arrays = {}
    process = describe(model.process, tensors, "process")
    tensors = tensors if dtype is None else round_to(tensors, dtype)
    return {"type": "process", "process": process, **describe_parts(model)}, tensors


def decode_process(document: dict[str, Any], contents: Contents) -> Any:
    """Check a document with a `type` field by field, then make the model."""
    kind = document["type"]
    if kind == "process":
        return _process(document, contents)
    if kind == "mixture":
        return _mixture(document, contents)
    if kind == "chart":
        return _chart(document, contents)
    raise ValueError(f"expected a model of type process, mixture or chart, got {kind!r:.80}")


def _process(document: dict[str, Any], contents: Contents) -> ProcessModel:
    check_keys(document, ("type", "process"), (*PARTS, "report"))
    arrays, others = read_arrays(document["process"], contents, STORED)
    if others.tensors:
        raise ValueError(f"expected tensors of the process, got {min(others.tensors):.80}")
    process = rebuild("process", document["process"], "process", tensors=arrays)
    model = ProcessModel(process, **read_parts(document))
    if model.input_dim is not None:
        _check_calls(model, model.input_dim)
    return model


def _check_calls(model: ProcessModel, input_dim: int) -> None:
    """Refuse a process that does not take inputs of so many dimensions."""
    try:
        with jax.enable_x64(True):
            given = model.condition().observations
            x, y = jnp.zeros((2, input_dim)), jnp.zeros((2, model.manifold.ambient_dim))
            eqx.filter_eval_shape(density, model.process, given, x, y, None, jr.key(0))
            if model.normaliser is not None:
                model.normaliser.forward_x(x)
                model.normaliser.inverse_y(y)
    except Exception as error:
        what = f"a process of functions of {input_dim} inputs"
        raise ValueError(f"expected {what}, got: {sentence(error)}") from error


def _encode_mixture(model: MixtureProcess, dtype: str | None) -> tuple[dict[str, Any], Arrays]:
    members, tensors = [], {}
    if len(model.members) > MAX_MEMBERS:
        got = len(model.members)
        raise ValueError(f"expected at most {MAX_MEMBERS} members to save, got {got}")
    for i, member in enumerate(model.members):
        own = None if isinstance(member, ProcessModel) else dtype
        document, arrays = encode(member, own)
        members.append(document)
        tensors |= _prefixed(f"members.{i}", arrays)
    weights = [float(value) for value in np.asarray(model.log_weights)]
    return {
        "type": "mixture",
        "log_weights": weights,
        "members": members,
        "variables": members[0]["variables"],
        **({} if model.report is None else {"report": model.report}),
    }, tensors


_SEPARATOR = "/"


def _mixture(document: dict[str, Any], contents: Contents) -> MixtureProcess:
    check_keys(document, ("type", "log_weights", "members"), ("variables", "report"))
    members, weights = document["members"], document["log_weights"]
    if not isinstance(members, list) or not 1 <= len(members) <= MAX_MEMBERS:
        raise ValueError(f"expected 1 to {MAX_MEMBERS} members, got {members!r:.80}")
    if any(not isinstance(m, dict) or m.get("type") not in (None, "process") for m in members):
        raise ValueError("expected networks and processes as members, got others")
    if document.get("variables") != members[0].get("variables"):
        raise ValueError("expected the variables of the first member, got others")
    log_weights = value_of("log_weights", weights, tuple[float, ...])
    parts = [_part(contents, f"members.{i}") for i in range(len(members))]
    if sum(len(part.tensors) for part in parts) != len(contents.tensors):
        raise ValueError("expected tensors of the members, got others")
    models = [decode(m, part) for m, part in zip(members, parts, strict=True)]
    report = read_parts({"report": document.get("report")})["report"]
    return MixtureProcess(tuple(models), log_weights, report)


def _encode_chart(model: ChartModel, dtype: str | None) -> tuple[dict[str, Any], Arrays]:
    flat, arrays = encode(model.flat, None if isinstance(model.flat, ProcessModel) else dtype)
    tensors = _prefixed("flat", arrays)
    start, variables = model.start, model.variables
    return {
        "type": "chart",
        "flat": flat,
        "frame": describe(model.frame),
        "start": None if start is None else describe(start, tensors, "start"),
        "variables": None if variables is None else describe(variables),
        **({} if model.report is None else {"report": model.report}),
    }, tensors


def _chart(document: dict[str, Any], contents: Contents) -> ChartModel:
    check_keys(document, ("type", "flat", "frame", "start"), ("variables", "report"))
    if not isinstance(document["flat"], dict) or document["flat"].get("type") == "chart":
        raise ValueError("expected a flat model in the maps of tracks, got another")
    inside = _part(contents, "flat")
    rest = {name: v for name, v in contents.tensors.items() if not name.startswith("flat/")}
    arrays, others = read_arrays(document["start"], contents._replace(tensors=rest))
    if others.tensors:
        raise ValueError(f"expected tensors of the first points, got {min(others.tensors):.80}")
    start = document["start"]
    if start is not None:
        start = rebuild("start", start, "density", tensors=arrays)
    frame = rebuild("frame", document["frame"], "frame")
    parts = read_parts({name: document.get(name) for name in ("variables", "report")})
    given = parts["variables"], parts["report"]
    return ChartModel(decode(document["flat"], inside), frame, start, *given)


def _prefixed(prefix: str, arrays: Arrays) -> Arrays:
    return {f"{prefix}{_SEPARATOR}{name}": value for name, value in arrays.items()}


def _part(contents: Contents, prefix: str) -> Contents:
    """Arrays of a part under their own names."""
    prefix = f"{prefix}{_SEPARATOR}"
    tensors = {
        name.removeprefix(prefix): tensor
        for name, tensor in contents.tensors.items()
        if name.startswith(prefix)
    }
    return contents._replace(tensors=tensors)
