"""Exact processes as models: the same laws in the data's units, tables, files."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from geomndp import OutsideTrainingWarning, ProcessModel, load
from geomndp._warnings import FirstOrderNoiseWarning
from geomndp.data import BoxCox, Logit, LogTransform, Normaliser
from geomndp.gp import GP
from geomndp.kernels import Coregionalised, KernelRegression, ShrunkCovariance, SquaredExponential
from geomndp.model import TrainingSupport

from .helper import change, document_of

UNITS = Normaliser(x_shift=10.0, x_scale=2.0, y_shift=1.0, y_scale=3.0)
XC, X = np.asarray([9.0, 9.5, 11.0]), np.asarray([9.2, 10.0, 12.5, 11.0])
YC, Y = np.asarray([0.5, 1.0, -2.0]), np.asarray([0.1, 2.0, 0.7, -1.9])


def rows(values):
    return jnp.asarray(values)[:, None]


@pytest.fixture
def model(gp):
    return ProcessModel(gp, UNITS)


def test_laws_are_those_of_the_process_in_other_units(model, gp):
    noise = 0.3
    z = [UNITS.forward_x(rows(XC)), UNITS.forward_y(rows(YC)), UNITS.forward_x(rows(X))]
    law, exact = model.condition(XC, YC, noise=noise), gp.condition(*z[:2], noise=noise / 9)
    expected = exact.log_prob(z[2], UNITS.forward_y(rows(Y))) - 4 * np.log(3.0)
    assert_allclose(law.log_prob(X, Y), expected)
    mask = np.asarray([1, 0, 1, 1])
    kept = mask > 0
    assert_allclose(law.log_prob(X, Y, mask=mask), law.log_prob(X[kept], Y[kept]))
    mean, std = exact.mean_and_std(z[2])
    assert_allclose(law.mean(X), 1 + 3 * mean)
    assert_allclose(law.std(X), 3 * std)
    assert_allclose(law.quantile(0.3, X), 1 + 3 * exact.quantile(0.3, z[2]))
    samples = law.sample(X, key=0, num_samples=5)
    assert_allclose(samples, 1 + 3 * exact.sample(z[2], key=jr.key(0), num_samples=5))
    assert_allclose(model.log_prob(XC, YC), model.condition(XC, YC).log_evidence().value)
    joint = model.log_prob(np.append(XC, X), np.append(YC, Y))
    ratio = joint - model.log_prob(XC, YC)
    assert_allclose(model.condition(XC, YC).log_prob(X, Y), ratio, rtol=1e-5)


def test_evidence_counts_the_noise(model, gp):
    noisy = ProcessModel(dataclasses.replace(gp, noise=gp.noise + 0.3 / 9), UNITS)
    evidence = model.condition(XC, YC, noise=0.3).log_evidence()
    assert_allclose(evidence.value, noisy.log_prob(XC, YC))
    assert model.condition().log_evidence().value == 0


@pytest.mark.parametrize("transform", [LogTransform(4.0), BoxCox(0.5, 30.0), Logit(-20.0, 20.0)])
def test_moments_after_a_transform_are_those_of_samples(transform, gp):
    units = Normaliser(y_shift=transform.forward(0.0), y_scale=0.3, transform=transform)
    law = ProcessModel(gp, units).condition(XC, YC).marginals(X[:2])
    z = np.random.default_rng(0).normal(size=(400_000, 1, 1))
    samples = units.inverse_y(np.asarray(law.base.location) + np.asarray(law.base.scale) * z)
    assert_allclose(law.mean(), samples.mean(axis=0), rtol=0.02, atol=0.02)
    assert_allclose(law.std(), samples.std(axis=0), rtol=0.02)
    q = np.asarray([0.05, 0.9])
    assert_allclose(law.quantile(q), np.quantile(samples, q, axis=0), rtol=0.02, atol=0.03)
    values = law.quantile(0.7)
    assert_allclose(law.cdf(values), 0.7)
    step = 1e-5
    slope = (law.cdf(values + step) - law.cdf(values - step)) / (2 * step)
    assert_allclose(law.log_prob(values), jnp.log(slope), rtol=1e-6, atol=1e-7)


def test_it_is_pure_and_precise_where_jax_is_in_its_32_bit_mode(model):
    exact = float(model.condition(XC, YC).log_prob(X, Y))
    with jax.enable_x64(False):

        def value(xc, yc, x, y):
            law = model.condition(xc, yc)
            return law.log_prob(x, y), law.sample(x, key=0, num_samples=2), law.mean(x)

        arrays = [jnp.asarray(v, jnp.float32)[None, :, None] for v in (XC, YC, X, Y)]
        traced = jax.jit(jax.vmap(value))(*arrays)
        plain = value(XC, YC, X, Y)
        assert {v.dtype for v in (*traced, *plain)} == {jnp.dtype("float32")}
        assert_allclose(traced[0][0], exact, rtol=1e-5)
        assert_allclose(plain[0], exact, rtol=1e-6)
        assert_allclose(traced[2][0], plain[2], rtol=1e-4, atol=1e-5)


def test_tables_in_tables_out(model):
    named = model.with_variables("day", "level", units={"day": "days", "level": "m"})
    times = pd.to_datetime("2024-05-01") + pd.to_timedelta(XC - XC[0], unit="D")
    law = named.condition(pd.DataFrame({"day": times, "level": YC}))
    targets = pd.DataFrame({"day": times[0] + pd.to_timedelta([1.5, 2.5], unit="D")})
    samples = law.sample(targets, key=0, num_samples=3)
    assert list(samples) == ["sample", "day", "level"] and len(samples) == 6
    expected = model.condition(XC - XC[0], YC).mean([1.5, 2.5])
    assert_allclose(law.mean(targets)["level"], expected[:, 0])
    assert law.mean(targets).attrs["units"] == {"level": "m"}
    assert "3 context points" in repr(law) and "level (m)" in repr(law)


def test_requests_outside_of_the_record_warn_and_wrong_ones_are_refused(gp, model):
    support = TrainingSupport(((8.0, 12.0),), ((-3.0, 5.0),), (4.0,), 0.1, 9, 9)
    known = dataclasses.replace(model, support=support)
    with pytest.warns(OutsideTrainingWarning, match=r"x = 20 \(trained on 8 to 12\)"):
        known.condition(XC, YC).mean([20.0])
    known.condition(XC, YC).mean(np.linspace(9, 11, 400))  # density is no matter to it
    with pytest.raises(ValueError, match="expected x of 1 columns, got 2"):
        known.condition(np.ones((3, 2)), YC)
    with pytest.raises(ValueError, match="expected finite y"):
        model.condition(XC, [1.0, np.nan, 2.0])
    with pytest.raises(ValueError, match="expected a process in the model's units"):
        ProcessModel(model)
    logarithmic = ProcessModel(gp, Normaliser(transform=LogTransform(3.0)))
    with pytest.raises(ValueError, match="expected -3 < y < inf for LogTransform, got -9 in row 1"):
        logarithmic.condition(XC[:2], [1.0, -9.0])
    with pytest.warns(FirstOrderNoiseWarning):
        logarithmic.condition(XC[:2], [1.0, 2.0], noise=0.01)


def rich_model() -> ProcessModel:
    """A process with tables of numbers, of two outputs."""
    x = np.linspace(0, 1, 5)[:, None]
    base = Coregionalised(SquaredExponential((0.3,)), ((1.0, 0.4), (0.4, 0.5)))
    kernel = ShrunkCovariance.fit(base, x, 0.7 * np.eye(10), 0.3, 0.05)
    mean = KernelRegression.fit(SquaredExponential(0.4), x, np.hstack([np.sin(x), x]), 0.1)
    gp = GP(kernel, mean, noise=(0.05, 0.02))
    units = Normaliser(y_scale=2.0, transform=[LogTransform(5.0), BoxCox(0.5, 9.0)])
    model = ProcessModel(gp, units, report="held-out: GP 0.1 nats\nchosen: GP")
    return model.with_variables("t", ["a", "b"])


def test_files_hold_tables_of_numbers(tmp_path):
    model = rich_model()
    model.save(tmp_path / "m", {"note": 1})
    again = load(tmp_path / "m")
    assert isinstance(again, ProcessModel)
    assert again.normaliser == model.normaliser and again.variables == model.variables
    assert "chosen: GP" in repr(again)
    assert again.process.mean.x.dtype == np.float64
    x, y = np.asarray([[0.1], [0.66]]), np.asarray([[0.5, 1.0], [0.2, 2.0]])
    assert again.condition(x, y).log_prob(x + 0.1, y) == model.condition(x, y).log_prob(x + 0.1, y)
    with jax.enable_x64(False):
        load(tmp_path / "m").save(tmp_path / "again")
    assert (
        document_of(tmp_path / "again.safetensors")["process"]
        == (document_of(tmp_path / "m.safetensors")["process"])
    )


def test_outputs_that_are_missing_do_not_count():
    """Those of a table (NaN) and of a mask; the other outputs of their rows do."""
    model = rich_model()
    x, y = np.asarray([0.1, 0.45, 0.66]), np.asarray([[0.5, 1.0], [0.2, 2.0], [0.1, 1.5]])
    mask = np.asarray([[1, 1], [1, 0], [0, 1]])
    table = pd.DataFrame({"t": x, "a": y[:, 0], "b": y[:, 1]})
    junk = np.where(mask > 0, y, -50.0)  # outside the domain of both transforms
    law = model.condition(table.where(np.c_[np.ones(3), mask] > 0))
    found = model.condition(x, junk, mask=mask)
    target, value = np.asarray([0.8]), np.asarray([[0.3, 1.2]])
    assert_allclose(law.log_prob(target, value), found.log_prob(target, value))
    joint = np.append(x, target), np.append(junk, value, axis=0), np.append(mask, [[1, 1]], axis=0)
    ratio = model.log_prob(*joint[:2], mask=joint[2]) - model.log_prob(x, junk, mask=mask)
    assert_allclose(law.log_prob(target, value), ratio, rtol=1e-5)
    assert_allclose(found.log_evidence().value, model.log_prob(x, junk, mask=mask))


BAD = {
    "type": (lambda d: d.update(type="other"), "type process, mixture or chart"),
    "null": (lambda d: d.update(type=None), "type process, mixture or chart"),
    "key": (lambda d: d.update(extra=1), "got the key 'extra'"),
    "none": (lambda d: d.pop("process"), "expected process"),
    "class": (lambda d: d["process"].update(kind="process/other"), "expected a known part"),
    "role": (lambda d: d["process"].update(kind="kernel/white"), "expected a known part"),
    "alias": (
        lambda d: d["process"]["mean"].update(x=d["process"]["kernel"]["x"]),
        "tensor process.mean.x|tensors of the process",
    ),
    "missing": (
        lambda d: d["process"]["mean"].update(x={"tensor": "process.mean.none"}),
        "expected the tensor process.mean.none, got none",
    ),
    "number": (
        lambda d: d["process"]["mean"].update(x=1.0),
        "tensors of the process, got process.mean.x",
    ),
    "deep": (lambda d: d["process"]["mean"].update(x={"tensor": {"tensor": 1}}), "expected"),
    "inputs": (lambda d: d["variables"]["inputs"].append(_variable("s")), "functions of 2 inputs"),
    "outputs": (lambda d: d["variables"]["outputs"].append(_variable("c")), "expected 2 outputs"),
    "noise": (lambda d: d["process"].update(noise=[0.1]), "one noise variance or a tuple of 2"),
    "report": (lambda d: d.update(report=[1]), "expected text for report"),
}


def _variable(name):
    return {"kind": "variable/plain", "name": name}


@pytest.mark.parametrize("case", BAD)
def test_hostile_files_are_refused_in_a_sentence(case, tmp_path):
    edit, message = BAD[case]
    path = tmp_path / "m.safetensors"
    rich_model().save(path)
    change(path, edit)
    with pytest.raises(ValueError, match=message) as raised:
        load(path)
    assert str(raised.value).startswith("expected ") and "\n" not in str(raised.value)


def test_a_network_that_corrects_a_process_is_saved_with_it(learnt, tmp_path):
    x = np.linspace(0, 1, 5)[:, None]
    mean = KernelRegression.fit(SquaredExponential(0.4), x, np.sin(x), 0.1)
    score = learnt.score.with_base(GP(SquaredExponential(0.5), mean, 0.01), key=jr.key(1))
    model = dataclasses.replace(learnt, score=score)
    model.save(tmp_path / "m", dtype="float16")
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert_allclose(again.score.base.mean.weights, mean.weights, rtol=0)
    arguments = (jnp.asarray(0.3), jnp.asarray(x), jnp.asarray(np.cos(x)))
    found, expected = (eqx.filter_jit(m.score)(m.noising, *arguments) for m in (again, model))
    assert_allclose(found, expected, rtol=1e-12)
    change(tmp_path / "m.safetensors", lambda d: d.pop("base"))
    with pytest.raises(ValueError, match="expected"):
        load(tmp_path / "m")


def test_only_registered_processes_are_saved(tmp_path, gp):
    class OwnGP(GP):
        """Of a user."""

    own = ProcessModel(OwnGP(gp.kernel))
    with pytest.raises(ValueError, match=r"got OwnGP: gn\.register\('role/name', OwnGP\)"):
        own.save(tmp_path / "own")
    with pytest.raises(ValueError, match="expected a network to store as float16"):
        ProcessModel(gp).save(tmp_path / "half", dtype="float16")
    assert not list(tmp_path.iterdir())
