"""Tensors from strangers: refused unless they are those of the network in the file."""

import time

import numpy as np
import pytest
from safetensors.numpy import load_file

from geomndp import _model_files, load

from .helper import change, document_of, rewrite


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
    other = _model_files.weights(_model_files.folder() / "regression1d/se")
    path = tmp_path / "m.safetensors"
    rewrite(path, document_of(valid), load_file(other))
    with pytest.raises(ValueError, match="expected tensors of the network, got"):
        load(path)
