"""Model files: the document and the tensors of a model twisted, or its bytes damaged."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import jax.random as jr
import numpy as np

import geomndp as gn
from fuzz.bytes import damaged
from fuzz.calls import Attempt
from fuzz.judge import judge_call
from fuzz.twists import Twister
from fuzz.values import TEXTS
from fuzz.world import World
from geomndp import _model_files

PLAIN = (None, True, False, 0, -1, 1, 2, 10**9, 1e30, -0.5, [], {}, [[]], {"kind": "White"}, 2**70)
NAMES = (
    "White",
    "Sphere",
    "SquaredExponential",
    "RelativeAttention",
    "kernel/white",
    "manifold/sphere",
)


def model_file(twist: Twister, world: World) -> Attempt:
    """A model is loaded and, if it is taken, sampled."""
    name = twist.pick("model", ["mast", "winds", "tracks"])
    good = (world.folder / f"{name}.safetensors").read_bytes()
    raw = twist("bytes", None, lambda r: damaged(r, good) if r.random() < 0.5 else None)
    header, tensors = _parts(good)
    document = json.loads(header[_model_files.KEY])
    document = twist("document", document, lambda r: _odd_json(r, document))
    document = twist("again", document, lambda r: _odd_json(r, document))
    tensors = twist("tensors", tensors, lambda r: _odd_tensors(r, tensors))
    summed = twist.pick("summed", [True] * 9 + [False])
    path, known = world.folder / "odd", world.known[name]
    drawn = twist.random("drawn").random() < 0.2

    def call() -> Any:
        content = _joined(document, tensors, summed) if raw is None else raw
        path.with_suffix(".safetensors").write_bytes(content)
        try:
            model = gn.load(path)
        finally:
            path.with_suffix(".safetensors").unlink()
        if drawn:
            return model.sample(known.targets, key=jr.key(0), num_samples=2, sampler=world.sampler)

    return {"document": document, "tensors": tensors, "raw": raw}, lambda: judge_call(call)


def _parts(content: bytes) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    from safetensors.numpy import load

    length = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + length])["__metadata__"], load(content)


def _joined(document: Any, tensors: dict[str, np.ndarray], summed: bool) -> bytes:
    """A file whose checksum is right, so that what is in it is looked at."""
    from safetensors.numpy import save

    data = save(tensors)
    start = 8 + int.from_bytes(data[:8], "little")
    if summed and isinstance(document, dict):
        try:
            document = {**document, "sha256": _model_files.digest(document, data[start:])}
        except ValueError:  # NaN is no JSON
            pass
    return save(tensors, {_model_files.KEY: json.dumps(document)})


def _places(value: Any, path: tuple = ()) -> list[tuple]:
    found = [path]
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, part in items:
        found += _places(part, (*path, key))
    return found


def _odd_json(random: Random, document: Any) -> Any:
    """One part of a document replaced, removed, or joined by another."""
    document = json.loads(json.dumps(document))
    path = random.choice(_places(document))
    odd = random.choice((*PLAIN, *TEXTS, *NAMES, float("nan"), random.randrange(100)))
    if not path:
        return odd
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    how = random.random()
    if how < 0.2:
        del inner[path[-1]]
    elif how < 0.3 and isinstance(inner, dict):
        inner[random.choice(("kind", "extra", "x", ""))] = odd
    elif how < 0.35:
        inner[path[-1]] = document
        return _deep(random.choice([3, 2000]))
    else:
        inner[path[-1]] = odd
    return document


def _deep(depth: int) -> Any:
    value: Any = {}
    for _ in range(min(depth, 900)):
        value = [value]
    return {"format": "geomndp", "version": 2, "net": value}


def _odd_tensors(random: Random, tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    tensors = dict(tensors)
    name = random.choice(list(tensors))
    value = tensors[name]
    odd = random.choice(
        (
            lambda: value.astype("float16"),
            lambda: value.astype("float64"),
            lambda: value.astype("int32"),
            lambda: value[..., None],
            lambda: value[:1],
            lambda: value.ravel()[:0],
            lambda: np.full_like(value, np.nan),
            lambda: value * np.float32(1e38),
            lambda: value.T.copy(),
            lambda: None,
        )
    )()
    if odd is None:
        del tensors[name]
    else:
        tensors[random.choice([name, name, name, "extra"])] = np.ascontiguousarray(odd)
    return tensors
