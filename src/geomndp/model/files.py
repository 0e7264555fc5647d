"""Models as files: safetensors for the parameters, JSON for everything else.

Loading never runs code: the JSON names classes from a fixed list. The JSON, which holds the
checksum of the other file, is written last.
"""

import dataclasses
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _files, _shipped, geometry, kernels, nets, noising, score
from geomndp.data import Normaliser
from geomndp.gp import Constant
from geomndp.model.model import Model
from geomndp.tables import Variable, Variables

_MODULES = (kernels, noising, score)
_KNOWN = {
    name: getattr(module, name)
    for module in _MODULES
    for name in module.__all__
    if isinstance(getattr(module, name), type) and not name.startswith("Abstract")
} | {
    "Constant": Constant,
    "Normaliser": Normaliser,
    "Sphere": geometry.Sphere,
    "Torus": geometry.Torus,
    "SO3": geometry.SO3,
    "Variable": Variable,
    "Variables": Variables,
}
_NOT_PLAIN = (
    "NetworkScore",
    "GaussianScore",
    "GridGaussianScore",
    "MixtureScore",
    "HeatMixtureScore",
)


def save(model: Model, path: str | os.PathLike, metadata: dict | None = None) -> None:
    """Write a model with a learnt score."""
    if not isinstance(model.score, score.NetworkScore) or not isinstance(
        model.score.net, nets.AbstractNet
    ):
        raise ValueError("expected a model with a NetworkScore of geomndp.nets to save")
    path = _shipped.stem(path)
    weights = _weights_bytes(model.score.net)
    document = {
        "format": "geomndp",
        "version": _shipped.VERSION,
        "sha256": hashlib.sha256(weights).hexdigest(),
        "eps": model.eps,
        "noising": _describe(model.noising),
        "net": model.score.net.config(),
        "parametrisation": _describe(model.score.parametrisation),
        "conditional": model.score.conditional,
        "normaliser": None if model.normaliser is None else _describe(model.normaliser),
        "variables": None if model.variables is None else _describe(model.variables),
        "metadata": metadata or {},
    }
    _files.write(_shipped.sibling(path, ".safetensors"), weights)
    _files.write(_shipped.sibling(path, ".json"), json.dumps(document, indent=1))


def load(name: str | os.PathLike) -> Model:
    """Read a model from its path (with or without ending) or by its shipped name."""
    path = _shipped.find(name)
    document = _shipped.document(path)
    # Shapes only: to draw parameters that are then replaced takes seconds.
    net = eqx.filter_eval_shape(nets.build, document["net"], key=jr.key(0))
    net = _with_weights(net, path, document["sha256"])
    learnt = score.NetworkScore(
        net, _rebuild(document["parametrisation"]), conditional=document["conditional"]
    )
    # Models of earlier versions have no names.
    normaliser, variables = (_rebuild(document.get(part)) for part in ("normaliser", "variables"))
    return Model(_rebuild(document["noising"]), learnt, document["eps"], normaliser, variables)


def _weights_bytes(net) -> bytes:
    from safetensors.numpy import save as encode

    leaves = jax.tree_util.tree_leaves_with_path(eqx.filter(net, eqx.is_array))
    return encode({jax.tree_util.keystr(key): np.asarray(leaf) for key, leaf in leaves})


def _with_weights(net, path: Path, checksum: str):
    from safetensors.numpy import load as decode

    try:
        content = _shipped.sibling(path, ".safetensors").read_bytes()
    except OSError as error:
        raise ValueError(f"expected parameters in {path}.safetensors: {error.strerror}") from error
    if hashlib.sha256(content).hexdigest() != checksum:
        raise ValueError(f"expected {path}.safetensors with checksum {checksum[:12]}, got another")
    stored = decode(content)

    def restore(key, leaf):
        shaped = isinstance(leaf, jax.ShapeDtypeStruct)
        return jnp.asarray(stored[jax.tree_util.keystr(key)]) if shaped else leaf

    return jax.tree_util.tree_map_with_path(restore, net)


def _describe(module) -> dict:
    """A module of plain fields as JSON; mean functions are code and cannot be written."""
    name = type(module).__name__
    if name not in _KNOWN:
        raise ValueError(f"expected a part of geomndp to save, got {name}")
    fields = {f.name: getattr(module, f.name) for f in dataclasses.fields(module)}
    return {"kind": name, **{key: _plain(key, value) for key, value in fields.items()}}


def _plain(key: str, value):
    if isinstance(value, eqx.Module):
        return _describe(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (tuple, list)):
        return [_plain(key, item) for item in value]
    raise ValueError(f"expected a plain value for {key} to save, got {type(value).__name__}")


def _rebuild(config) -> Any:
    if isinstance(config, dict):
        kind = config.get("kind")
        if kind not in _KNOWN or kind in _NOT_PLAIN:
            raise ValueError(f"expected a known part in the model file, got {kind!r}")
        return _KNOWN[kind](**{k: _rebuild(v) for k, v in config.items() if k != "kind"})
    return tuple(_rebuild(item) for item in config) if isinstance(config, list) else config
