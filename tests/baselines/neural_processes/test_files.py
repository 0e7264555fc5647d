"""Neural processes are saved and loaded like any model, and answer in the data's units."""

import json
import subprocess
import sys

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import geomndp as gn
from geomndp import _model_files
from geomndp._methods import FACTORISED, METHODS, MODULES
from geomndp._safetensors import Contents, Tensor
from geomndp.baselines.neural_processes.autoregressive import Autoregressive
from geomndp.baselines.neural_processes.methods import process_class
from geomndp.baselines.neural_processes.te_tnp import TETNP
from geomndp.model.process_documents import decode_process, encode_process

from .checks import with_random_parameters
from .test_te_tnp import TINY

UNITS = gn.data.Normaliser(x_shift=(3.0,), x_scale=(2.0,), y_shift=(-1.0,), y_scale=(5.0,))


def model(dtype: str = "float32") -> gn.ProcessModel:
    process = with_random_parameters(TETNP(1, 1, **{**TINY, "dtype": dtype}, key=jr.key(0)))
    return gn.ProcessModel(process, UNITS)


def function():
    rng = np.random.default_rng(0)
    x, y = 3 + 2 * rng.uniform(-1, 1, (7, 1)), -1 + 5 * rng.normal(size=(7, 1))
    return (x[:4], y[:4]), (x[4:], y[4:])


@pytest.mark.parametrize("rolled_out", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_saved_model_gives_the_same_numbers(tmp_path, rolled_out):
    own = model()
    if rolled_out:
        own = gn.ProcessModel(Autoregressive(own.process), UNITS)
    own.save(tmp_path / "model")
    again = gn.load(tmp_path / "model")
    assert type(again.process) is type(own.process)
    for got, want in zip(jax.tree.leaves(again), jax.tree.leaves(own), strict=True):
        assert_array_equal(got, want)
    (xc, yc), (x, y) = function()
    laws = [m.condition(xc, yc) for m in (own, again)]
    assert_array_equal(*[law.log_prob(x, y) for law in laws])
    assert_array_equal(*[law.sample(x, key=0, num_samples=2) for law in laws])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_half_the_size_and_comes_back_in_the_dtype_of_the_network(
    tmp_path, dtype
):
    own = model()
    own.save(tmp_path / "half", dtype=dtype)
    own.save(tmp_path / "whole")
    sizes = [(tmp_path / f"{name}.safetensors").stat().st_size for name in ("half", "whole")]
    count = sum(leaf.size for leaf in jax.tree.leaves(own.process))
    assert sizes[1] - sizes[0] == pytest.approx(2 * count, abs=64)
    again = gn.load(tmp_path / "half")
    for got, want in zip(jax.tree.leaves(again), jax.tree.leaves(own), strict=True):
        assert got.dtype == jnp.float32
        assert_array_equal(got, want.astype(dtype).astype(jnp.float32))
    exact = gn.ProcessModel(gn.gp.GP(gn.kernels.SquaredExponential(1.0)))
    with pytest.raises(ValueError, match="expected a network to store as"):
        exact.save(tmp_path / "gp", dtype=dtype)


def test_answers_are_those_of_the_process_in_the_units_of_the_data():
    own, ((xc, yc), (x, y)) = model("float64"), function()
    law = own.condition(xc, yc)
    inner = own.process.condition(*(jnp.asarray(v) for v in ((xc - 3) / 2, (yc + 1) / 5)))
    nats = inner.log_prob(jnp.asarray((x - 3) / 2), jnp.asarray((y + 1) / 5))
    assert_allclose(law.log_prob(x, y), nats - len(x) * np.log(5), rtol=1e-9)
    assert_allclose(law.mean(x), -1 + 5 * inner.mean(jnp.asarray((x - 3) / 2)), rtol=1e-9)
    assert law.exact_marginals
    with pytest.raises(ValueError, match="expected noise 0 for a neural process"):
        own.condition(xc, yc, noise=0.1).log_prob(x, y)


def test_it_says_what_it_is():
    assert "factorised: samples are independent per target" in repr(model())


def test_a_new_process_reads_a_file_by_its_tag_alone(tmp_path):
    model().save(tmp_path / "model")
    code = "import sys, geomndp as gn; print(type(gn.load(sys.argv[1]).process).__name__)"
    command = [sys.executable, "-c", code, str(tmp_path / "model")]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "TETNP\n"


def test_every_method_has_a_class_of_its_tag():
    for name, tag in METHODS.items():
        assert _model_files.tag_of(process_class(name)) == tag
        assert process_class(name).joint == (name not in FACTORISED)
    assert {_model_files.tag_of(_model_files.class_of(tag)) for tag in MODULES} == set(MODULES)
    with pytest.raises(ValueError, match="expected method to be one of 'anp', 'convcnp'"):
        process_class("cnp")


def as_contents(tensors) -> Contents:
    """Tensors as a file would hold them."""
    data, entries = b"", {}
    for name, value in tensors.items():
        entries[name] = Tensor("F32", value.shape, len(data), len(data) + value.nbytes)
        data += value.tobytes()
    return Contents(entries, {}, data)


def changed(document, change):
    document = json.loads(json.dumps(document))
    change(document["process"])
    return document


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.pop("parameters"), "expected tensors of the process"),
        (lambda d: d.update(num_layers=100_000), "expected a network of"),
        (lambda d: d.update(width=10), "of shape"),
        (lambda d: d.update(dtype="float64"), "dtype float64"),
        (lambda d: d["parameters"].pop(".target"), "expected tensors of the process"),
        (lambda d: d.update(kind="process/nothing"), "expected a known part"),
        (lambda d: d.update(wrong=1), "wrong"),
    ],
)
def test_wrong_files_are_refused(change, message):
    document, tensors = encode_process(model(), None)
    contents = as_contents(tensors)
    decode_process(document, contents)
    with pytest.raises(ValueError, match=message):
        decode_process(changed(document, change), contents)
