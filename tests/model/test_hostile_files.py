"""Files from strangers: refused in one sentence, at once, whatever is wrong with them."""

import copy
import json
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save

from geomndp import _model_files, load

from .helper import as_version_one, change, document_of, rewrite

SECONDS = 0.5  # of the processor, which others may share; most take a few milliseconds
DEEP = "deep"
VALUES = {
    "missing": None,
    "null": None,
    "negative": -1,
    "infinite": float("inf"),  # 1e400
    "text": "x",
    "list": [],
    "object": {},
    "deep": None,
    "huge": 10**30,
    "large": 10**9,
    "fraction": 0.5,
    "true": True,
}


def fields(value, entry=()) -> Iterator[tuple]:
    """Locations of everything in a document but its metadata."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        if key in ("metadata", "sha256"):
            continue
        yield (*entry, key)
        if isinstance(item, (dict, list)):
            yield from fields(item, (*entry, key))


def _put(document: dict, entry: tuple, name: str) -> str:
    """JSON text of a document with another value at a entry."""
    document = copy.deepcopy(document)
    inner = document
    for key in entry[:-1]:
        inner = inner[key]
    if name == "missing":
        del inner[entry[-1]]
    else:
        inner[entry[-1]] = {"deep": DEEP}.get(name, VALUES[name])
    text = json.dumps(document)
    text = text.replace(json.dumps(DEEP), "[" * 2000 + "]" * 2000)
    return text.replace("Infinity", "1e400")


def _write(path: Path, text: str, tensors: dict) -> None:
    """A file with this document, whose checksum is right where one can be made."""
    try:
        rewrite(path, json.loads(text), tensors)
    except (ValueError, RecursionError):
        path.write_bytes(save(tensors, {_model_files.KEY: text}))


CHANGES = [(name, 3) for name in VALUES] + [(name, 1) for name in ("missing", "object", "deep")]
# "huge", "null", "deep" and "text" are refused at the same places.
SLOW = [("large", 3), ("true", 3), ("list", 3), ("fraction", 3), ("object", 1)]
CHANGES = [pytest.param(*c, marks=pytest.mark.slow if c in SLOW else ()) for c in CHANGES]


@pytest.mark.parametrize(("name", "version"), CHANGES)
def test_every_changed_field_is_refused_or_harmless(name, version, valid, tmp_path):
    """ValueError and nothing else, or a model that is made of what the file says."""
    path, accepted = tmp_path / "m.safetensors", []
    path.write_bytes(valid.read_bytes())
    document = document_of(valid) if version == 3 else as_version_one(path)
    tensors = load_file(valid)
    for entry in fields(document):
        text = _put(document, entry, name)
        if version == 3:
            _write(path, text, tensors)
        else:
            path.with_suffix(".json").write_text(text)
        start = time.process_time()
        try:
            load(path)
            accepted.append(".".join(map(str, entry)))
        except ValueError as error:
            assert str(error).startswith("expected ") and "\n" not in str(error)
        assert time.process_time() - start < SECONDS, entry
    harmless = {
        # Options with a default may be missing: older files do not have those that came later.
        "missing": lambda entry: (
            not entry.startswith(("t_min", "conditional", "format", "version"))
        ),
        "null": lambda entry: entry.split(".")[-1] in NULLABLE,
        "negative": lambda entry: entry in SIGNED,
        "list": lambda entry: entry in EMPTY,
        "large": lambda entry: False,
        "fraction": lambda entry: True,
        "text": lambda entry: (
            entry.split(".")[-1] in ("name", "units", "long_name", "standard_name")
        ),
        "true": lambda entry: entry == "conditional",
    }
    allowed = harmless.get(name, lambda entry: False)
    assert not [entry for entry in accepted if not allowed(entry)]


EMPTY = ("net.periods", "normaliser.transform", "normaliser.x_period")
NULLABLE = ("mean", "compute_dtype", "attention_backend", "normaliser", "variables", "support")
NULLABLE += ("dtype", "stored_dtype", "noise", "max_spacing", "crowding")
SIGNED = ("noising.mean.value", "normaliser.x_shift.0", "normaliser.y_shift.0")
SIGNED += ("support.inputs.0.0", "support.inputs.0.1", "support.outputs.0.0")


def test_a_changed_document_is_told_by_its_checksum(valid, tmp_path):
    path, content = tmp_path / "m.safetensors", valid.read_bytes()
    path.write_bytes(content.replace(b"10.0", b"10.5", 1))
    with pytest.raises(ValueError, match="checksum"):
        load(path)


@pytest.mark.parametrize("bit", range(0, 8))
def test_flipped_bits_are_refused(bit, valid, tmp_path):
    rng = np.random.default_rng(bit)
    content, path = bytearray(valid.read_bytes()), tmp_path / "m.safetensors"
    for offset in rng.integers(0, len(content), 40):
        damaged = content.copy()
        damaged[offset] ^= 1 << bit
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="expected"):
            load(path)


def test_parts_that_do_not_belong_together_are_refused(valid, tmp_path):
    cases = {
        "noising of 1 outputs, got 3": lambda d: d.update(
            variables=None,
            noising={
                "kind": "noising/brownian",
                "manifold": {"kind": "manifold/sphere", "d": 2},
                "schedule": d["noising"]["schedule"],
            },
        ),
        "one x_scale or 1": lambda d: d["normaliser"].update(x_scale=[1.0, 2.0]),
        "names of 1 inputs, got 2": lambda d: d["variables"].update(
            inputs=[{"kind": "variable/plain", "name": name} for name in "ab"]
        ),
        "functions of 1 inputs": lambda d: d["noising"]["kernel"]["second"]["kernel"].update(
            lengthscale=[0.3, 0.3]
        ),
        "of 1 inputs, got: .*mean": lambda d: d["noising"]["mean"].update(dim=3),
        "known part .* for noising": lambda d: d["noising"].update(kind="kernel/white"),
        "known part .* for noising.kernel": lambda d: d["noising"]["kernel"].update(kind="os"),
        "the key 'more'": lambda d: d.update(more=1),
        "for noising.schedule, got 'more'": lambda d: d["noising"]["schedule"].update(more=1),
        "ranges of .1, 1. inputs and outputs": lambda d: d["support"].update(outputs=[]),
        "bytes of description": lambda d: d["noising"].update(x="x" * 1_100_000),
    }
    for message, edit in cases.items():
        path = tmp_path / "m.safetensors"
        path.write_bytes(valid.read_bytes())
        change(path, edit)
        with pytest.raises(ValueError, match=message):
            load(path)


def test_kernels_nested_too_deep_are_refused(valid, tmp_path):
    def nest(document):
        for _ in range(20):
            inner = document["noising"]["kernel"]
            document["noising"]["kernel"] = {
                "kind": "kernel/scaled",
                "factor": 1.0,
                "kernel": inner,
            }

    path = tmp_path / "m.safetensors"
    path.write_bytes(valid.read_bytes())
    change(path, nest)
    with pytest.raises(ValueError, match="deep"):
        load(path)
