"""Models as files: round trips, what is refused at saving, and what a stop leaves."""

import dataclasses
import json
import os
import shutil
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from safetensors.numpy import load_file

from geomndp import Model, _atomic_io, _model_files, load
from geomndp.data import Normaliser
from geomndp.geometry import ProductManifold, Sphere, Torus
from geomndp.gp import Constant
from geomndp.kernels import Diagonal, Periodic, SquaredExponential, White
from geomndp.nets import BiDimensionalAttention
from geomndp.noising import Brownian, CosineSchedule, LinearSchedule, OrnsteinUhlenbeck
from geomndp.score import NetworkScore, PreconditionK

from .helper import document_of


def test_round_trip_is_the_identity(learnt, function, tmp_path):
    x, y = function
    model = dataclasses.replace(learnt, normaliser=Normaliser(1.0, 2.0, 3.0, 4.0))
    model.save(tmp_path / "folder" / "a", {"note": 1})
    again = load(tmp_path / "folder" / "a.safetensors")
    assert eqx.tree_equal(again, model)
    assert _model_files.metadata(tmp_path / "folder" / "a") == {"note": 1}
    assert again.log_prob(x, y) == model.log_prob(x, y)
    assert [p.name for p in (tmp_path / "folder").iterdir()] == ["a.safetensors"]
    assert eqx.tree_equal(load(tmp_path / "folder" / "a"), model)


def test_a_training_folder_is_a_name(learnt, tmp_path):
    learnt.save(tmp_path / "model")
    assert eqx.tree_equal(load(tmp_path), learnt)


def test_every_part_survives(tmp_path):
    kernel = Diagonal(0.5 * SquaredExponential(0.3) + White(0.1) * Periodic(1.0, 2.0), 2)
    noising = OrnsteinUhlenbeck(kernel, CosineSchedule(8.0), Constant(0.5, 2))
    net = BiDimensionalAttention(3, 2, width=8, num_layers=1, num_heads=2, key=jr.key(0))
    model = Model(noising, NetworkScore(net, PreconditionK()), t_min=1e-3)
    model.save(tmp_path / "b")
    assert eqx.tree_equal(load(tmp_path / "b"), model)


def test_products_of_manifolds_and_of_kernels_are_told_apart(tmp_path):
    manifold = ProductManifold((Sphere(2), ProductManifold((Torus(1), Torus(2)))))
    noising = Brownian(manifold, LinearSchedule(1e-4, 15.0))
    p = manifold.ambient_dim
    net = BiDimensionalAttention(1, p, width=8, num_layers=1, num_heads=2, key=jr.key(0))
    model = Model(noising, NetworkScore(net, PreconditionK()))
    model.save(tmp_path / "c")
    assert document_of(tmp_path / "c.safetensors")["noising"]["manifold"]["kind"] == (
        "manifold/product"
    )
    assert eqx.tree_equal(load(tmp_path / "c"), model)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_stored_and_the_networks_dtype_comes_back(dtype, learnt, tmp_path):
    learnt.save(tmp_path / "whole")
    learnt.save(tmp_path / "half", dtype=dtype)
    sizes = {name: len(_data(tmp_path / f"{name}.safetensors")) for name in ("whole", "half")}
    assert sizes["half"] * np.dtype(learnt.score.net.config.dtype).itemsize == sizes["whole"] * 2
    old, new = (jax.tree.leaves(model.score.net) for model in (learnt, load(tmp_path / "half")))
    for a, b in zip(old, new, strict=True):
        assert b.dtype == a.dtype
        assert jnp.array_equal(b, a.astype(dtype).astype(a.dtype))


def _data(path: Path) -> bytes:
    return b"".join(value.tobytes() for value in load_file(path).values())


def test_what_could_not_be_loaded_is_not_saved(exact, learnt, tmp_path):
    with pytest.raises(ValueError, match="NetworkScore"):
        exact.save(tmp_path / "c")
    noising = dataclasses.replace(learnt.noising, mean=lambda x: x)
    with pytest.raises(ValueError, match="plain value for mean"):
        dataclasses.replace(learnt, noising=noising).save(tmp_path / "c")
    large = eqx.tree_at(lambda m: m.score.net.head.bias, learnt, jnp.full(1, 1e6))
    with pytest.raises(ValueError, match=r"infinity in \.head\.bias as float16"):
        large.save(tmp_path / "c", dtype="float16")
    with pytest.raises(ValueError, match="expected dtype to be one of 'float16'"):
        learnt.save(tmp_path / "c", dtype="int8")
    nan = eqx.tree_at(lambda m: m.score.net.head.bias, learnt, jnp.full(1, jnp.nan))
    with pytest.raises(ValueError, match=r"NaN or infinity in \.head\.bias"):
        nan.save(tmp_path / "c")
    for metadata in ({"a": object()}, {"a": float("nan")}, {"a": "x" * 2_000_000}):
        with pytest.raises(ValueError, match="JSON"):
            learnt.save(tmp_path / "c", metadata)
    assert not list(tmp_path.iterdir())


def test_unknown_name_lists_the_known_ones():
    for name in ("regression9d/se", "", ".", "a\0b", "x" * 5000):
        with pytest.raises(ValueError, match=r"shipped name \(.*\), got"):
            load(name)


class Stop(BaseException):
    """Stands for a kill: nothing of the package catches it."""


STEPS = ("mkdir", "write_bytes", "replace", "unlink", "fsync")
"""Everything that saving does to the disk."""


def _stopping_at(number: int, monkeypatch) -> list[str]:
    """Let the given operation on files (counted from 0) be the one before which all stops."""
    done: list[str] = []

    def watched(name, original):
        def call(*args, **kwargs):
            if len(done) >= number:
                raise Stop
            done.append(name)
            return original(*args, **kwargs)

        return call

    for name in STEPS:
        owner = os if name == "fsync" else Path
        monkeypatch.setattr(owner, name, watched(name, getattr(owner, name)))
    return done


@pytest.mark.parametrize("version", [1, 2])
def test_a_stop_at_any_step_leaves_the_old_model_or_the_new(version, learnt, tmp_path, monkeypatch):
    new = dataclasses.replace(learnt, t_min=1e-2)
    for number in range(20):
        folder = tmp_path / str(number)
        old = _old_model(version, learnt, folder)
        with monkeypatch.context() as patch:
            done = _stopping_at(number, patch)
            try:
                new.save(folder / "m")
                stopped = False
            except Stop:
                stopped = True
        found = load(folder / "m")
        assert eqx.tree_equal(found, old) or eqx.tree_equal(found, new)
        if not stopped:
            assert eqx.tree_equal(found, new)
            assert [p.name for p in folder.iterdir()] == ["m.safetensors"]
            assert number > 3 and {"write_bytes", "fsync", "replace"} <= set(done)
            return
    pytest.fail("saving never ended")


def _old_model(version: int, learnt: Model, folder: Path) -> Model:
    if version == 2:
        learnt.save(folder / "m")
        return learnt
    folder.mkdir()
    for suffix in _model_files.SUFFIXES:
        shutil.copy(_model_files.sibling(_model_files.folder() / V1, suffix), folder / f"m{suffix}")
    return load(V1)


V1 = "vector-fields/se-ndp"


def test_files_of_version_one_load(tmp_path):
    """And become files of version two when they are saved, the old document gone."""
    old = _old_model(1, None, tmp_path / "v1")  # pyright: ignore[reportArgumentType]
    document = json.loads((tmp_path / "v1/m.json").read_text())
    assert document["version"] == 1 and document["noising"]["kind"] == "OrnsteinUhlenbeck"
    found = load(tmp_path / "v1/m.json")
    assert eqx.tree_equal(found, old)
    assert found.noising.kernel == Diagonal(
        White(document["noising"]["kernel"]["kernel"]["variance"]), 2
    )
    found.save(tmp_path / "v1/m", _model_files.metadata(tmp_path / "v1/m"))
    assert [p.name for p in (tmp_path / "v1").iterdir()] == ["m.safetensors"]
    assert eqx.tree_equal(load(tmp_path / "v1/m"), old)
    assert _model_files.metadata(tmp_path / "v1/m") == document["metadata"]


def test_a_foreign_json_beside_a_model_is_left_alone(learnt, tmp_path):
    for text in ("[1, 2]", '{"format": "other"}', "{"):
        _atomic_io.write(tmp_path / "m.json", text)
        learnt.save(tmp_path / "m")
        assert eqx.tree_equal(load(tmp_path / "m"), learnt)
        assert (tmp_path / "m.json").read_text() == text
