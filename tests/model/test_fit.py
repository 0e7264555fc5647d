"""`fit` trains a model's score; everything below it is tested in tests/train."""

import dataclasses
import importlib

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd
import pytest

from geomndp import _model_files, build, fit, load, train
from geomndp._types import Batch
from geomndp.cli import main
from geomndp.data import Identity, LogTransform, Normaliser
from geomndp.model.model import in_full_precision


def _one(x, y) -> Batch:
    return Batch(x[None], y[None], jnp.ones((1, len(x))), jnp.zeros((1, len(x))))


def test_fit_returns_a_model_that_conditions(learnt, function):
    x, y = function
    model, history = fit(learnt, _one(x, y), steps=4, key=jr.key(0), quiet=True)
    assert model.score.conditional and history.steps[-1] == 4
    assert model.condition(x[:2], y[:2]).sample(x, key=jr.key(1), num_samples=2).shape == (2, 6, 1)


def test_known_noise_of_a_batch_is_kept_in_the_models_units(learnt, function, monkeypatch):
    batch = _one(*function)
    noise = jnp.where(batch.mask > 0, 0.4, jnp.nan)
    model, seen = dataclasses.replace(learnt, normaliser=Normaliser(y_scale=2.0)), []

    def fit_score(score, noising, generator, **options):
        seen.append(generator.functions.noise)
        raise InterruptedError

    monkeypatch.setattr(importlib.import_module("geomndp.auto.fit"), "fit_score", fit_score)
    with pytest.raises(InterruptedError):
        fit(model, batch._replace(noise=noise), steps=1, key=0)
    np.testing.assert_allclose(seen[0], 0.1 * batch.mask)
    model = dataclasses.replace(learnt, normaliser=Normaliser(transform=Identity()))
    with pytest.raises(ValueError, match="without a transform for known noise"):
        fit(model, batch._replace(noise=noise), steps=1, key=0)


def test_values_outside_the_domain_of_a_transform_are_refused(learnt, function):
    model = dataclasses.replace(learnt, normaliser=Normaliser(transform=LogTransform()))
    x, y = function
    with pytest.raises(ValueError, match="0 < y < inf for LogTransform, got -1 in row 2"):
        fit(model, _one(x, jnp.ones_like(y).at[2].set(-1.0)), steps=1, key=0)


def test_exact_scores_are_not_trained(exact, function):
    with pytest.raises(ValueError, match="NetworkScore to train, got GaussianScore"):
        fit(exact, _one(*function), steps=1, key=jr.key(0))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A model with names and units of data in a table, and the folder of its training."""
    folder = tmp_path_factory.mktemp("fit") / "run"
    day = np.repeat(np.arange(8), 6)
    hour = np.tile(np.arange(6.0), 8)
    heat = 20 + 3 * np.sin(hour + day) + 0.1 * day
    table = pd.DataFrame({"day": day, "hour": hour, "heat": heat})
    options = {"inputs": "hour", "outputs": "heat", "function": "day"}
    plan = build(table, **options, width=8, num_layers=1)
    model, history = fit(plan, steps=4, key=jr.key(0), directory=folder, quiet=True)
    return folder, plan, model, history


def test_the_folder_of_a_training_is_a_model(trained):
    folder, _, model, history = trained
    assert eqx.tree_equal(load(folder), in_full_precision(model))
    assert load(folder).normaliser is not None and load(folder).variables is not None
    notes = _model_files.metadata(folder)
    assert notes == {"steps": 4, "training_seconds": history.seconds[-1]}


def test_the_command_line_takes_the_folder_of_a_training(trained, tmp_path):
    pd.DataFrame({"hour": [1.0, 3.0], "heat": [20.0, 22.0]}).to_csv(tmp_path / "seen.csv")
    seen, out = str(tmp_path / "seen.csv"), tmp_path / "samples.csv"
    words = ["--targets", "0:5:1", "--num-samples", "2", "--steps", "4", "--dtype", "float64"]
    assert main(["condition", str(trained[0]), seen, *words, "--out", str(out)]) == 0
    samples = pd.read_csv(out)
    assert {"hour", "heat"} <= set(samples.columns) and np.isfinite(samples.heat).all()


def test_a_finished_training_is_read_back_and_a_lost_model_written_again(trained, monkeypatch):
    folder, plan, model, _ = trained
    for path in folder.glob("model*"):
        path.unlink()
    monkeypatch.setattr(train.step, "train_steps", None)  # nothing is trained
    again, _ = fit(plan, steps=4, key=jr.key(0), directory=folder, quiet=True)
    assert eqx.tree_equal(again, model) and eqx.tree_equal(load(folder), in_full_precision(model))


def test_other_units_are_another_training(trained):
    folder, plan, _, _ = trained
    units = plan.model.normaliser
    warmer = dataclasses.replace(units, y_shift=tuple(v + 273.15 for v in units.y_shift))
    other = dataclasses.replace(plan, model=dataclasses.replace(plan.model, normaliser=warmer))
    with pytest.raises(train.CheckpointError, match=r"other model \(normaliser\.y_shift"):
        fit(other, steps=4, key=jr.key(0), directory=folder, quiet=True)


def test_what_cannot_be_saved_is_said_before_training(learnt, function, tmp_path, monkeypatch):
    """A mean function is code."""
    noising = dataclasses.replace(learnt.noising, mean=lambda x: jnp.zeros((len(x), 1)))
    model = dataclasses.replace(learnt, noising=noising)
    calls = []

    def fake(*_, **options):
        calls.append(options)
        return model.score, train.History(*[np.ones(1)] * 4)

    monkeypatch.setattr(importlib.import_module("geomndp.auto.fit"), "fit_score", fake)
    with pytest.warns(UserWarning, match="only checkpoints will be kept, no model file: expected"):
        fit(model, _one(*function), steps=1, key=jr.key(0), directory=tmp_path)
    assert calls[0]["directory"] == tmp_path and not list(tmp_path.iterdir())
