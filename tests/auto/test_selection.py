"""Fits by selection: what is chosen on Gaussian data, kept in a folder, loaded and resumed."""

import dataclasses
import importlib
import json

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import xarray as xr
from numpy.testing import assert_allclose

from geomndp import build, fit, load
from geomndp.auto import gaussian_candidates, network_timing
from geomndp.auto.budget import NetworkSchedule
from geomndp.auto.gaussian_stage import GaussianStage
from geomndp.baselines import CANDIDATES
from geomndp.evaluate import Conformal
from geomndp.gp import GP
from geomndp.kernels import SquaredExponential
from geomndp.train.lock import FolderInUse, hold

from .helper import TINY

PROCESS = GP(SquaredExponential(1.0, 4.0), mean=lambda x: 10 + x, noise=0.1)


@pytest.fixture(scope="module")
def table():
    x = jnp.linspace(0.0, 4.0, 7)[:, None]
    y = jax.vmap(lambda key: PROCESS.sample(x, key=key))(jr.split(jr.key(0), 42))
    return xr.Dataset({"y": (("function", "x"), np.asarray(y)[..., 0])}, {"x": np.asarray(x)[:, 0]})


@pytest.fixture
def one_form(monkeypatch):
    """A single form of the pooled process: this is about what follows."""
    monkeypatch.setattr(gaussian_candidates, "CANDIDATES", CANDIDATES[:1])


def test_gaussian_data_are_given_a_gaussian_law(table, one_form, tmp_path):
    """Without time for networks; the report says all, and the folder is a model."""
    plan = build(table, symmetry="none", ordered=True, **TINY)  # one split
    model, report = fit(plan, minutes=0.1, key=0, directory=tmp_path, quiet=True)
    names = [result.name for result in report.candidates]
    assert "GP" in names and "climatology" in names
    by_name = {result.name: result.nats for result in report.candidates}
    assert by_name["GP"] > by_name["climatology"] + 0.3
    assert report.num_held_out == len(report.held_out[0]) == 8
    assert 0.8 <= report.coverage["all"] <= 0.98
    assert report.sentence() in model.report and "no network was compared" in model.report
    x, y = np.array([0.5, 2.0]), np.array([10.0, 13.0])
    exact = PROCESS.condition(jnp.asarray(x)[:, None], jnp.asarray(y)[:, None])
    mean, std = exact.mean_and_std(jnp.asarray([[2.5]]))
    law = model.condition(x, y)
    assert abs(float(law.mean(np.array([[2.5]]))[0, 0]) - float(mean[0, 0])) < 0.5 * float(
        std[0, 0]
    )
    again = load(tmp_path)
    assert float(again.condition(x, y).log_prob([2.5], [12.0])) == pytest.approx(
        float(law.log_prob([2.5], [12.0])), rel=1e-6
    )
    assert report.conformal == Conformal.load(tmp_path) and report.conformal.num_functions == 8
    (low, high), own = law.interval([2.5], level=0.8, conformal=report.conformal), law.std([2.5])
    assert 0.5 < float((high - low)[0, 0] / (2.56 * own[0, 0])) < 3
    with pytest.raises(ValueError, match="at least 9 held-out functions"):
        law.interval([2.5], conformal=report.conformal)
    decided = json.loads((tmp_path / "plan.json").read_text())
    assert [sorted(plan.order[row] for row in decided["held_out"][0])] == [list(report.held_out[0])]
    assert not any(name.startswith("corrected") and decided[name][0][0] for name in decided)
    spent = json.loads((tmp_path / "seconds.json").read_text())
    assert_allclose(sum(spent.values()), report.seconds["all"], rtol=0.2)


def test_wrong_calls_are_refused_at_once(table):
    plan = build(table, symmetry="none", **TINY)
    with pytest.raises(ValueError, match=r"minutes=\.\.\. for a plan of gn.build, without steps"):
        fit(plan, steps=3, minutes=1, key=0)
    with pytest.raises(ValueError, match=r"expected steps=\.\.\. to train a model"):
        fit(plan.model, plan.data, key=0)
    with pytest.raises(ValueError, match=r"expected steps=\.\.\. beside optimiser"):
        fit(plan, key=0, optimiser=None)
    with pytest.raises(ValueError, match="minutes"):
        fit(plan, key=0, minutes=-1)


def test_a_plan_says_what_a_fit_will_do(table):
    text = " ".join(str(build(table, symmetry="none", ordered=True, **TINY)).split())
    for words in ("at most 5 minutes", "a fifth (the last in time) held out", "steps per minute"):
        assert words in text
    few = str(build(table.isel(function=slice(20)), symmetry="none", **TINY))
    assert "each fifth of the functions in turn" in " ".join(few.split())


def test_a_run_with_other_validation_tasks_is_another_one(table, monkeypatch, tmp_path):
    """That of a version which let fewer functions validate: its values belong to other tasks."""
    plan = build(table, symmetry="none", ordered=True, **TINY)
    _selection(plan, tmp_path)
    monkeypatch.setattr("geomndp.auto.selection.MAX_FUNCTIONS", 64)
    with pytest.raises(ValueError, match=r"expected the run of .* with data .* another folder"):
        _selection(plan, tmp_path)


def _selection(plan, folder):
    selection = importlib.import_module("geomndp.auto.selection")
    return selection.Selection(plan, 3.0, 0, folder, lambda line: None)


def test_a_folder_of_other_data_is_refused(table, tmp_path):
    plan = build(table, symmetry="none", **TINY)
    tasks = _selection(plan, tmp_path).tasks
    np.testing.assert_array_equal(_selection(plan, tmp_path).tasks.y, tasks.y)
    with pytest.raises(ValueError, match="choose another folder"):
        _selection(build(table + 1.0, symmetry="none", **TINY), tmp_path)


def test_a_resumed_run_has_networks_of_the_same_size(table, monkeypatch, tmp_path):
    """Sizes follow from the time that was left when they were chosen first."""
    module, seen = importlib.import_module("geomndp.auto.learnt_stage"), []
    monkeypatch.setattr(module, "network_families", lambda p, b, left, key: seen.append(left) or [])
    monkeypatch.setattr(GaussianStage, "base", lambda stage: None)
    for spent in (1.0, 60.0):
        selection = _selection(build(table, symmetry="none", **TINY), tmp_path)
        selection.learnt.run(selection.plan, selection.gaussians, spent)
    assert seen[0] == seen[1] > 0


def test_two_fits_in_one_folder_are_refused(table, tmp_path):
    plan = build(table, symmetry="none", **TINY)
    with hold(tmp_path), pytest.raises(FolderInUse, match="no other run trains"):
        fit(plan, minutes=0.1, key=0, directory=tmp_path, quiet=True)


class Killed(Exception):
    """Stands for the end of the process."""


@pytest.mark.slow
def test_a_kill_changes_nothing(table, one_form, monkeypatch, tmp_path):
    """Killed inside the training of the second network, and again between stages."""
    schedule = NetworkSchedule(40, 20, 4, 1, 20)
    monkeypatch.setattr(network_timing, "FEW_FUNCTIONS", 10)
    monkeypatch.setattr(network_timing, "network_schedule", lambda *a, **k: schedule)
    plan = build(table, symmetry="none", **TINY)
    options = {"minutes": 20, "key": 0, "quiet": True}
    whole, expected = fit(plan, directory=tmp_path / "whole", **options)
    stage = importlib.import_module("geomndp.auto.learnt_stage")
    train, calls = stage.train_network, []

    def killed(on_fold, *args, **kwargs):
        calls.append(on_fold)
        if len(calls) == 2:
            raise Killed
        return train(on_fold, *args, **kwargs)

    monkeypatch.setattr(stage, "train_network", killed)
    with pytest.raises(Killed):
        fit(plan, directory=tmp_path / "parts", **options)
    monkeypatch.setattr(stage, "train_network", train)
    resumed, report = fit(plan, directory=tmp_path / "parts", **options)
    same = dataclasses.replace(resumed, report=whole.report)  # but for the seconds
    assert eqx.tree_equal(same, whole)
    assert [r.nats for r in report.candidates] == [r.nats for r in expected.candidates]
    assert report.chosen == expected.chosen
    assert "network" in {r.name for r in report.candidates}
