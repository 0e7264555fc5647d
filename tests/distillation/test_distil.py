"""`gn.distil` from a small teacher to a student: it learns, resumes, is saved, and refuses."""

import dataclasses
import sys
import warnings

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd
import pytest

import geomndp as gn
from geomndp import distillation, kernels, nets, noising, samplers, score
from geomndp._types import Batch
from geomndp.data import ContextSampler, regression1d
from geomndp.distillation.comparison import _row

from ..cases import perturbed

module = sys.modules["geomndp.distillation.distil"]  # not the function of that name
NET = {"width": 8, "num_layers": 1, "num_heads": 2, "bias_width": 4, "dtype": "float32"}


def small_teacher(**options):
    net = nets.RelativeAttention(1, 1, **NET, **options, key=jr.key(0))
    process = noising.OrnsteinUhlenbeck(kernels.White(), noising.DEFAULT_SCHEDULE_1D)
    law = score.NetworkScore(perturbed(net, 0.2, key=jr.key(1)), conditional=True)
    return gn.Model(process, law).with_variables("x", "y")


def functions(batch_size=16):
    problem = regression1d("paper", "se")
    generator = problem.generator(batch_size, contexts=ContextSampler(), packed=False)
    return dataclasses.replace(generator, max_points=6, dtype="float32")


def test_student_learns_resumes_and_answers(tmp_path):
    teacher, data = small_teacher(), functions()
    options = {"steps": 60, "key": 0, "quiet": True, "calls": (2,), "num_tasks": 4}
    straight, table = gn.distil(teacher, data, directory=tmp_path / "run", **options)
    log = np.genfromtxt(tmp_path / "run" / "log.csv", delimiter=",", names=True)
    assert log["loss"][-1] < log["loss"][0]
    assert [row["evaluations"] for row in table.rows] == [54, 28, 3]
    assert table.rows[0]["ratio"] == 1 and np.isfinite(table.rows[2]["ratio"])
    assert "student, 2 calls" in str(table)
    student = gn.load(tmp_path / "run")
    again, _ = gn.distil(teacher, data, directory=tmp_path / "run", **options)
    for other in (student, again):
        for a, b in zip(*map(jax.tree.leaves, (straight.score, other.score)), strict=True):
            np.testing.assert_array_equal(a, b)
    posterior = student.condition(np.zeros(1, "f4"), np.ones(1, "f4"))
    y = posterior.sample(np.zeros(1, "f4"), key=0, num_samples=4, sampler=samplers.FlowMap(2))
    assert y.shape == (4, 1, 1) and np.ptp(np.asarray(y)) > 0
    assert isinstance(posterior.default_sampler(), samplers.Amortised)
    with pytest.raises(ValueError, match="got a student"):
        gn.distil(student, data, **options)


def test_a_student_is_kept_where_its_table_is_not_made(tmp_path, monkeypatch):
    def stopped(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "compare_calls", stopped)
    options = {"steps": 1, "key": 0, "quiet": True, "directory": tmp_path}
    with pytest.raises(KeyboardInterrupt):
        gn.distil(small_teacher(), functions(2), **options)
    assert gn.load(tmp_path).score.has_flow_map


@pytest.mark.parametrize("form", ["table", "batch"])
def test_functions_in_other_units_than_the_teacher_learnt_are_warned_of(form):
    """A student of a model of degrees Celsius, from a file in kelvins."""
    support = gn.model.TrainingSupport(
        ((0.0, 1.0),), ((-10.0, 30.0),), (1.0,), 0.1, 9, 8, (0.0, 4.0)
    )
    teacher = dataclasses.replace(small_teacher(), support=support)

    def data(offset):
        if form == "table":
            hours = np.tile(np.linspace(0.0, 1.0, 5), 4)
            columns = {"function": np.repeat(np.arange(4), 5), "x": hours, "y": offset + hours}
            return pd.DataFrame(columns)
        x = np.broadcast_to(np.linspace(0.0, 1.0, 5)[None, :, None], (4, 5, 1))
        return gn.data.Batch(x, x + offset, np.ones((4, 5)), np.zeros((4, 5)))

    with pytest.warns(gn.OutsideTrainingWarning, match=r"y = 29\d.* \(trained on -10 to 30\)"):
        module._generators(teacher, data(290.0), None)
    with warnings.catch_warnings():
        warnings.simplefilter("error", gn.OutsideTrainingWarning)
        module._generators(teacher, data(17.0), None)


@pytest.mark.slow
def test_energy_score_goes_on_from_a_student():
    teacher, data = small_teacher(), functions()
    student = distillation.as_student(teacher, key=jr.key(0))
    base = distillation.TrajectoryLoss(teacher.score, teacher.t_min)
    loss = distillation.EnergyScoreLoss(base, calls=(2,), num_samples=2)
    options = {"key": 0, "quiet": True, "num_tasks": 0, "loss": loss, "start": student}
    tuned, table = gn.distil(teacher, data, steps=60, **options)
    assert not table.rows and "no tasks" in str(table)
    before, after = (
        jax.jit(lambda s: loss(s, teacher.noising, data.draw(jr.key(7)), key=jr.key(8))[0])(m.score)
        for m in (student, tuned)
    )
    assert after < before


def test_refusals():
    teacher, data = small_teacher(), functions()
    with pytest.raises(ValueError, match="expected functions to learn from"):
        gn.distil(teacher, None, steps=1, key=0)
    with pytest.raises(ValueError, match=r"expected a generator of functions, or several .* \[\]"):
        gn.distil(teacher, [], steps=1, key=0)
    with pytest.raises(ValueError, match="steps to be a whole number >= 1"):
        gn.distil(teacher, data, steps=0, key=0)
    exact = dataclasses.replace(teacher, score=score.GaussianScore(gn.gp.GP(kernels.White())))
    with pytest.raises(ValueError, match="trained network to distil, got GaussianScore"):
        gn.distil(exact, data, steps=1, key=0)
    joint = dataclasses.replace(
        teacher, score=dataclasses.replace(teacher.score, conditional=False)
    )
    with pytest.raises(ValueError, match="expected a teacher trained with contexts"):
        gn.distil(joint, data, steps=1, key=0)
    with pytest.raises(ValueError, match="expected a student as the start"):
        gn.distil(teacher, data, steps=1, key=0, start=teacher)
    other = distillation.as_student(teacher, key=jr.key(0)).with_variables("x", "z")
    with pytest.raises(ValueError, match="units and of the variables of the teacher"):
        gn.distil(teacher, data, steps=1, key=0, start=other)


def test_a_table_of_one_task_states_no_error():
    one, two = np.asarray([2.0]), np.asarray([2.0, 1.0])
    single, pair = _row("student", 1.5 * one, one), _row("student", two + 0.5, two)
    assert single["ratio"] == 1.5 and single["ratio_error"] is None
    assert pair["ratio_error"] > 0
    table = str(distillation.CallsTable([{**row, "evaluations": 2} for row in (single, pair)]))
    assert table.count("±") == 1 and "+50.0 %" in table


def test_a_comparison_prepares_no_network_for_its_last_function_alone():
    """Their boxes differ: a program for that of the last would give NaN for wider ones."""
    axis = 0.2 * np.arange(30)
    x = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2).astype(np.float32)
    options = {"width": 4, "channels": 2, "num_layers": 1, "num_pooling_widths": 2, "radius": 1.0}
    law = score.NetworkScore(nets.Steerable2(("scalar",), **options, key=jr.key(0)))
    assert nets.with_capacity(law, x).net.layouts
    mask = np.ones((2, len(x)), np.float32)
    batch = Batch(*map(jnp.asarray, (np.stack([2 * x, x]), mask[..., None], mask, mask)))
    net = nets.with_common_capacity(law, batch.x, batch.mask).net
    assert not net.layouts and net.config.max_neighbours >= 60
