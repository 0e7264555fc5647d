"""Files from strangers: refused in one sentence, at once, whatever is wrong with them."""

import copy
import json
import time
from collections.abc import Iterator
from pathlib import Path

import jax.random as jr
import numpy as np
import pytest
from safetensors.numpy import load_file, save

from geomndp import Model, _pretrained, load
from geomndp.data import Normaliser
from geomndp.gp import Constant
from geomndp.kernels import SquaredExponential, White
from geomndp.model import TrainingSupport
from geomndp.nets import RelativeAttention
from geomndp.noising import LinearSchedule, OrnsteinUhlenbeck
from geomndp.score import NetworkScore

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


@pytest.fixture(scope="module")
def valid(tmp_path_factory) -> Path:
    """A tiny model with every optional part."""
    net = RelativeAttention(1, 1, width=4, num_layers=1, num_heads=2, bias_width=4, key=jr.key(0))
    kernel = White() + 0.5 * SquaredExponential((0.3,))
    noising = OrnsteinUhlenbeck(kernel, LinearSchedule(0.0, 10.0), Constant(0.5))
    support = TrainingSupport(((-1.0, 1.0),), ((0.0, 2.0),), (2.0,), 0.1, 9, 3, (1e-3, 1.0))
    parts = {"normaliser": Normaliser(), "support": support}
    model = Model(noising, NetworkScore(net, conditional=True), **parts)
    model = model.with_variables("time", "level", units={"time": "days"})
    path = tmp_path_factory.mktemp("valid") / "m.safetensors"
    model.save(path, {"note": 1})
    load(path)
    return path


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
        path.write_bytes(save(tensors, {_pretrained.KEY: text}))


CHANGES = [(name, 3) for name in VALUES] + [(name, 1) for name in ("missing", "object", "deep")]


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
NULLABLE += ("dtype", "stored_dtype", "noise", "max_spacing")
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


@pytest.mark.parametrize(
    ("field", "value"),
    [("num_layers", 10**9), ("num_layers", 500), ("width", 10**9), ("num_heads", 10**6),
     ("num_frequencies", 10**6), ("bias_width", 10**6), ("expansion", 10**6), ("input_dim", 10**6)],
)  # fmt: skip
def test_huge_networks_are_refused_before_they_are_made(field, value, valid, tmp_path):
    path = tmp_path / "m.safetensors"
    path.write_bytes(valid.read_bytes())
    change(path, lambda document: document["net"].update({field: value}))
    start = time.process_time()
    with pytest.raises(ValueError, match=f"{field}"):
        load(path)
    assert time.process_time() - start < 0.1


def _renamed(tensors):
    return {("x" + k if i == 0 else k): v for i, (k, v) in enumerate(tensors.items())}


TENSORS = {
    "missing": (lambda t: dict(list(t.items())[1:]), r"expected the tensor .*, got none"),
    "renamed": (_renamed, "expected the tensor"),
    "extra": (lambda t: {**t, "extra": np.zeros(1)}, r"got extra \(1 more"),
    "shape": (lambda t: {**t, ".head.bias": np.zeros(2)}, r"\.head\.bias of shape \(1,\)"),
    "scalar": (lambda t: {**t, ".head.bias": np.zeros(())}, r"\.head\.bias of shape \(1,\)"),
    "transposed": (
        lambda t: {**t, ".embed.weight": t[".embed.weight"].T.copy()},
        r"\.embed\.weight of shape",
    ),
    "dtype": (lambda t: {**t, ".head.bias": np.zeros(1, np.float16)}, "and dtype F16"),
    "integers": (lambda t: {k: v.astype(np.int64) for k, v in t.items()}, "and dtype I64"),
    "half": (lambda t: {k: v.astype(np.float16) for k, v in t.items()}, "and dtype F16"),
    "nan": (lambda t: {**t, ".head.bias": np.full(1, np.nan)}, r"NaN or infinity in \.head\.bias"),
    "infinity": (lambda t: {**t, ".head.bias": np.full(1, np.inf)}, "NaN or infinity"),
    "none": (lambda t: {}, "expected a network of 0 tensors"),
}  # fmt: skip


@pytest.mark.parametrize("case", TENSORS)
def test_tensors_that_are_not_the_networks_are_refused(case, valid, tmp_path):
    edit, message = TENSORS[case]
    path = tmp_path / "m.safetensors"
    rewrite(path, document_of(valid), edit(load_file(valid)))
    with pytest.raises(ValueError, match=message):
        load(path)


def test_another_models_weights_are_refused(valid, tmp_path):
    other = _pretrained.weights(_pretrained.folder() / "regression1d/se")
    path = tmp_path / "m.safetensors"
    rewrite(path, document_of(valid), load_file(other))
    with pytest.raises(ValueError, match="expected tensors of the network, got"):
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
        "bytes of description": lambda d: d["noising"].update(x="x" * 70_000),
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
