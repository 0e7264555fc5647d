"""Model files of versions 1 and 2, as they were written, keep loading."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from geomndp import _model_files, load
from geomndp.model.legacy import DOCUMENT, FIELD_RENAMES, upgrade
from geomndp.model.parts import arguments
from geomndp.model.tensors import parameters

VERSION_1 = """
{"format": "geomndp", "version": 1, "eps": 0.002, "noising": {"kind": "OrnsteinUhlenbeck",
 "kernel": {"kind": "Diagonal", "kernel": {"kind": "White", "variance": 1.5}, "dim": 2},
 "schedule": {"kind": "LinearSchedule", "beta0": 0.0, "beta1": 10.0}, "mean": null},
 "net": {"kind": "steerable2", "kinds": ["vector"], "side_dim": 0, "channels": 2, "width": 4,
 "num_layers": 1, "radius": 1.0, "max_neighbours": 3, "num_radial": 2, "num_heads": 0,
 "num_scales": 0, "compute_dtype": null, "implementation": null, "dtype": "float32"},
 "parametrisation": {"kind": "Velocity"}, "conditional": true, "normaliser": null,
 "variables": null, "metadata": {"eps": 1}}
"""
VERSION_2 = """
{"format": "geomndp", "version": 2, "eps": 0.002, "noising": {"kind": "noising/ornstein-uhlenbeck",
 "kernel": {"kind": "kernel/sum", "first": {"kind": "kernel/white", "variance": 1.5}, "second":
 {"kind": "kernel/scaled", "factor": 0.5, "kernel": {"kind": "kernel/squared-exponential",
 "lengthscale": [0.3], "variance": 1.0}}}, "schedule": {"kind": "schedule/linear", "beta0": 0.0,
 "beta1": 10.0}, "mean": {"kind": "mean/constant", "value": 0.5, "dim": 1}}, "net": {"kind":
 "net/relative-attention", "input_dim": 1, "output_dim": 1, "width": 4, "num_layers": 1,
 "num_heads": 2, "expansion": 2, "bias_width": 4, "num_frequencies": 16, "min_wavelength": 0.1,
 "max_wavelength": 16.0, "compute_dtype": null, "implementation": null, "dtype": "float32"},
 "parametrisation": {"kind": "parametrisation/velocity"}, "conditional": true, "dtype": "float32",
 "stored_dtype": "float32", "normaliser": {"kind": "normaliser/affine", "x_shift": [0.0],
 "x_scale": [2.0], "y_shift": [0.0], "y_scale": [1.0]}, "variables": {"kind": "variables/plain",
 "inputs": [{"kind": "variable/plain", "name": "time", "units": "days", "long_name": "",
 "standard_name": ""}], "outputs": [{"kind": "variable/plain", "name": "level", "units": "",
 "long_name": "", "standard_name": ""}], "codomain": "real"}, "support": {"kind": "support/ranges",
 "inputs": [[-1.0, 1.0]], "outputs": [[0.0, 2.0]], "extents": [2.0], "spacing": 0.1, "points": 9,
 "contexts": 3, "noise": [0.001, 1.0]}, "metadata": {"eps": 1}}
"""
PARAMETERS_1 = {
    ".edge.inner": ((2, 2), True),
    ".edge.outer": ((2, 2), True),
    ".embed": ((4, 1, 2), False),
    ".gate": ((8, 4), True),
    ".head": ((4, 2, 1), False),
    ".layers[0].condition": ((8, 4), True),
    ".layers[0].gated.inner": ((8, 12), True),
    ".layers[0].gated.outer": ((8, 8), True),
    ".layers[0].incoming": ((4, 2, 2), False),
    ".layers[0].merge": ((4, 2, 2), False),
    ".layers[0].outgoing": ((4, 2, 2), False),
    ".layers[0].own": ((4, 2, 2), False),
    ".layers[0].radial": ((36, 2), True),
    ".side": ((2, 5), True),
    ".time.inner": ((4, 33), True),
    ".time.outer": ((4, 4), True),
}
PARAMETERS_2 = {
    ".bias.inner": ((4, 32), False),
    ".bias.outer": ((2, 4), False),
    ".blocks[0].attention.merge": ((4, 4), False),
    ".blocks[0].attention.project": ((12, 4), False),
    ".blocks[0].narrow": ((4, 8), False),
    ".blocks[0].widen": ((8, 4), False),
    ".embed": ((4, 1), True),
    ".head": ((1, 4), True),
    ".time.inner": ((4, 33), True),
    ".time.outer": ((4, 4), True),
}
"""Shapes of the weights of every layer, and whether it has a bias."""


def tensors(layers: dict) -> dict[str, np.ndarray]:
    shapes = {}
    for name, (shape, bias) in layers.items():
        shapes |= {f"{name}.weight": shape} | ({f"{name}.bias": shape[:1]} if bias else {})
    values = np.random.default_rng(0)
    return {name: values.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def write_old(folder: Path, version: int) -> dict[str, np.ndarray]:
    """A model as that version wrote it, one file or two."""
    stored = tensors(PARAMETERS_1 if version == 1 else PARAMETERS_2)
    document = json.loads(VERSION_1 if version == 1 else VERSION_2)
    data = save(stored)
    if version == 1:
        document["sha256"] = hashlib.sha256(data).hexdigest()
        (folder / "m.safetensors").write_bytes(data)
        (folder / "m.json").write_text(json.dumps(document))
    else:
        start = 8 + int.from_bytes(data[:8], "little")
        document["sha256"] = _model_files.digest(document, data[start:])
        (folder / "m.safetensors").write_bytes(
            save(stored, {_model_files.KEY: json.dumps(document)})
        )
    return stored


@pytest.mark.parametrize("version", [1, 2])
def test_files_of_older_versions_load_and_are_saved_as_the_present_one(version, tmp_path):
    stored = write_old(tmp_path, version)
    model = load(tmp_path / "m")
    assert model.t_min == 0.002 and model.score.conditional
    found = parameters(model.score.net)
    assert set(found) == set(stored)
    for name, value in stored.items():
        np.testing.assert_array_equal(found[name], value)
    model.save(tmp_path / "again")
    document = _model_files.read_document(tmp_path / "again")
    assert document["version"] == 3 and document["t_min"] == 0.002 and "eps" not in document
    assert _model_files.metadata(tmp_path / "m") == {"eps": 1}  # a user's own words


def test_fields_are_renamed_at_every_depth(monkeypatch):
    monkeypatch.setitem(FIELD_RENAMES, "kernel/scaled", {"factor": "scale"})
    monkeypatch.setitem(FIELD_RENAMES, "variable/plain", {"units": "unit"})
    document = upgrade(json.loads(VERSION_2))
    assert document["noising"]["kernel"]["second"]["scale"] == 0.5
    assert document["variables"]["inputs"][0]["unit"] == "days"
    assert upgrade(document) == document
    both = json.loads(VERSION_2) | {"t_min": 0.1}
    with pytest.raises(ValueError, match="expected one of eps and t_min for document, got both"):
        upgrade(both)


@pytest.mark.parametrize("tag", [tag for tag in FIELD_RENAMES if tag != DOCUMENT])
def test_renamed_fields_are_those_of_the_class(tag):
    cls = _model_files.class_of(tag)
    assert cls is not None
    assert set(FIELD_RENAMES[tag].values()) <= set(arguments(cls))
    assert not set(FIELD_RENAMES[tag]) & set(arguments(cls))
