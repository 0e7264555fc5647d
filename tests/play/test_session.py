import dataclasses
import json
import warnings

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import geomndp as gn
from geomndp.geometry.geodesy import to_unit
from geomndp.model import TrainingSupport
from geomndp.play import Session
from geomndp.play.exchange import export
from geomndp.play.opening import shipped_student
from geomndp.play.requests import MAX_OBSERVATIONS, MAX_VALUES
from geomndp.play.scene import window
from geomndp.samplers import Amortised, FlowMap

from ..cases import slow_but
from ..flow_maps import GaussianFlowMap
from .models import GP_1D, OBSERVED, SESSIONS, WINDS, earth_session, exact, finite, line_model

STEPS = 2


def state(session, **parts):
    return {**session.start, "observations": OBSERVED[session.scene.kind], **parts}


def test_the_picture_is_the_librarys_answer(sampled_session):
    asked = state(sampled_session, steps=STEPS, seed=3)
    picture = sampled_session.answer(asked)
    x = np.linspace(-2, 2, 12)[:, None]
    posterior = line_model().condition([-0.5, 0.7], [1.0, -0.4], noise=np.array([0.0, 0.01]))
    y = posterior.sample(x, key=jr.key(3), num_samples=8, sampler=Amortised(STEPS))
    np.testing.assert_allclose(picture["x"], x)
    np.testing.assert_allclose(picture["samples"], y, atol=1e-6)
    np.testing.assert_allclose(picture["mean"], np.mean(y, axis=0), atol=1e-6)
    low, high = np.quantile(np.asarray(y), [0.05, 0.95], axis=0)
    np.testing.assert_allclose([picture["low"], picture["high"]], [low, high], atol=1e-6)


def test_the_truth_is_the_exact_process(exact_session):
    picture = exact_session.answer(state(exact_session, truth=True))
    rows = (np.array([[-0.5], [0.7]]), np.array([[1.0], [-0.4]]), np.array([0.0, 0.01]))
    posterior = GP_1D.condition(*map(jnp.asarray, rows))
    x = jnp.asarray(picture["x"])
    mean, std = posterior.mean_and_std(x)
    np.testing.assert_allclose(picture["truth"]["mean"], mean, atol=1e-6)
    np.testing.assert_allclose(picture["truth"]["std"], std, atol=1e-6)
    high = np.asarray(mean + 1.6448536 * std)
    np.testing.assert_allclose(picture["truth"]["high"], high, atol=1e-5)
    assert exact_session.answer(state(exact_session))["truth"] is None


@pytest.mark.parametrize("kind", slow_but(["globe"], SESSIONS))
def test_pictures_are_finite_json(kind):
    session = SESSIONS[kind](steps=1)
    near = {"near": {"lat": 15.0, "lon": -50.0, "km": 15000.0}} if kind == "globe" else {}
    picture = json.loads(json.dumps(session.answer(state(session, **near)), allow_nan=False))
    assert finite(picture) and picture["steps"] == 1
    assert json.loads(json.dumps(session.describe(), allow_nan=False))["kind"] == kind
    if kind == "globe":
        assert 0 <= picture["near"]["probability"] <= 1
        assert np.abs(np.array(picture["samples"])[..., 0]).max() <= 90
        assert min(picture["x"])[0] > 0  # after the last fix


def test_a_student_answers_by_its_flow_map(sampled_session):
    student = dataclasses.replace(line_model(), score=GaussianFlowMap(GP_1D))
    start = {**sampled_session.start, "seed": 5}
    session = Session(line_model(), start=start, student=student)
    assert session.samplers[:2] == ("flow-map", "amortised")
    [sampler] = session.stages(session.read(asked := state(session)))
    assert sampler == FlowMap()
    picture = session.answer(asked)
    posterior = student.condition([-0.5, 0.7], [1.0, -0.4], noise=np.array([0.0, 0.01]))
    x, size = np.array(picture["x"]), len(picture["samples"])
    y = posterior.sample(x, key=jr.key(5), num_samples=size, sampler=FlowMap())
    np.testing.assert_allclose(picture["samples"], y, atol=1e-6)
    assert picture["sampler"] == "FlowMap" and picture["steps"] == 4
    assert shipped_student("no/model") is None and shipped_student(__file__) is None


def test_first_answer_is_quick_and_the_second_better(sampled_session):
    request = sampled_session.read(state(sampled_session))
    assert [stage.steps for stage in sampled_session.stages(request)] == [5, 50]
    chosen = sampled_session.read(state(sampled_session, sampler="amortised", steps=7))
    assert [stage.steps for stage in sampled_session.stages(chosen)] == [7]


def test_an_exact_process_takes_no_sampler(exact_session):
    assert exact_session.samplers == () and exact_session.stages(exact_session.read({})) == [None]
    with pytest.raises(ValueError, match="expected no sampler"):
        exact_session.stages(exact_session.read({"sampler": "amortised"}))


def test_one_program_serves_any_number_of_points(exact_session):
    from geomndp.model._jit import num_programs

    rows = [{"x": [0.1 * i], "y": [0.0], "std": 0.0} for i in range(9)]
    exact_session.answer(state(exact_session, observations=rows[:1]))
    before = num_programs()
    for n in (2, 5, 9):
        exact_session.answer(state(exact_session, observations=rows[:n]))
    assert num_programs() == before


def test_what_training_did_not_see_is_said(exact_session):
    assert exact_session.answer({"samples": 2, "targets": 12})["warnings"] == []
    far = [{"x": [0.0], "y": [90.0]}]
    (warning,) = exact_session.answer(state(exact_session, observations=far))["warnings"]
    assert "outside of what the model was trained on" in warning


def test_answers_leave_the_filters_of_warnings_alone(exact_session, monkeypatch):
    """They are those of the whole process, and answers come from a thread of their own."""
    before, draw, during = list(warnings.filters), exact_session.draw, []

    def watched(*args):
        during.append(list(warnings.filters))
        return draw(*args)

    monkeypatch.setattr(exact_session, "draw", watched)
    exact_session.answer(state(exact_session))
    assert during == [before] and list(warnings.filters) == before


ROW = {"x": [0.0], "y": [0.0], "std": 0.0}
WRONG = {
    "no object": [],
    "unknown part": {"token": 1},
    "too many samples": {"samples": 513},
    "too few samples": {"samples": 1},
    "samples no whole number": {"samples": 4.0},
    "samples true": {"samples": True},
    "negative seed": {"seed": -1},
    "huge seed": {"seed": 2**31},
    "no targets": {"targets": 0},
    "too many values": {"samples": 512, "targets": 400, "seed": 0, "observations": []},
    "steps": {"steps": 201},
    "sampler": {"sampler": 3},
    "truth": {"truth": 1},
    "observations no list": {"observations": {}},
    "too many observations": {"observations": [ROW] * (MAX_OBSERVATIONS + 1)},
    "observation no object": {"observations": [1]},
    "observation with other parts": {"observations": [{**ROW, "z": 1}]},
    "x too long": {"observations": [{**ROW, "x": [0.0, 1.0]}]},
    "x text": {"observations": [{**ROW, "x": ["0"]}]},
    "y none": {"observations": [{**ROW, "y": [None]}]},
    "y infinite": {"observations": [{**ROW, "y": [float("inf")]}]},
    "y NaN": {"observations": [{**ROW, "y": [float("nan")]}]},
    "y huge": {"observations": [{**ROW, "y": [10**400]}]},
    "negative error": {"observations": [{**ROW, "std": -0.1}]},
    "view backwards": {"view": [[1.0, 0.0]]},
    "view of no width": {"view": [[1.0, 1.0 + 1e-9]]},
    "view of two inputs": {"view": [[0.0, 1.0], [0.0, 1.0]]},
    "view of words": {"view": [["a", "b"]]},
    "location on a line": {"near": {"lat": 0, "lon": 0, "km": 1}},
}


@pytest.mark.parametrize("name", [name for name in WRONG if name != "too many values"])
def test_wrong_states_are_refused_in_a_sentence(name, exact_session):
    with pytest.raises(ValueError, match=r"^expected "):
        exact_session.read(WRONG[name])


def test_pictures_are_bounded():
    session = SESSIONS["plane"]()
    assert 512 * 2 * 40**2 > MAX_VALUES
    with pytest.raises(ValueError, match="values of all samples"):
        session.read({"samples": 512, "targets": 40})


def test_latitudes_are_bounded():
    session = SESSIONS["globe"]()
    with pytest.raises(ValueError, match="lat of observation 1 to be a number from -90 to 90"):
        session.read({"observations": [{"x": [0.0], "y": [91.0, 0.0]}]})


def test_outputs_are_shown_in_their_units_without_a_record_of_training():
    names = ("lat", "lon"), ("u", "v")
    units = gn.data.Normaliser(y_shift=(1.0, 0.0), y_scale=(4.0, 2.0))
    model = gn.ProcessModel(WINDS, units).with_variables(*names, domain="sphere")
    assert model.support is None
    assert Session(model).scene.outputs == ((-11.0, 13.0), (-6.0, 6.0))


def test_fields_over_the_earth_are_the_librarys_answer():
    session = earth_session()
    picture = session.answer(asked := state(session, truth=True, seed=3))
    x, where = np.array(picture["x"]), np.array(OBSERVED["earth"][0]["x"])
    assert x.shape == (16, 2) and len(np.unique(np.asarray(to_unit(*x.T)).round(6), axis=0)) == 16
    targets, given = (jnp.asarray(to_unit(v[..., 0], v[..., 1])) for v in (x, where[None]))
    law = WINDS.condition(given, jnp.array([[1.0, 0.5]]), jnp.array([0.01]))
    mean, std = law.mean_and_std(targets)
    np.testing.assert_allclose(picture["truth"]["mean"], mean, atol=1e-5)
    np.testing.assert_allclose(picture["truth"]["std"], std, atol=1e-5)
    posterior = session.model.condition(given, np.array([[1.0, 0.5]]), noise=np.array([0.01]))
    y = posterior.sample(targets, key=jr.key(3), num_samples=4)
    np.testing.assert_allclose(picture["samples"], y, atol=1e-5)
    about = session.describe()
    assert about["land"] and about["kind"] == "earth" and about["outputs_apart"]
    points = json.loads(export(session, session.read(asked), "observations", "geojson").content)
    assert points["features"][0]["geometry"] == {"type": "Point", "coordinates": [20.0, 10.0]}
    with pytest.raises(ValueError, match="lat of observation 1 to be a number from -90 to 90"):
        session.read({"observations": [{"x": [91.0, 0.0], "y": [0.0, 0.0]}]})
    with pytest.raises(ValueError, match="range of lon"):
        session.read({"view": [[-80, 80], [-200, 0]]})


def test_first_answers_of_tracks_take_more_steps():
    """With five steps tracks zigzag."""
    for kind, steps in (("line", 5), ("globe", 12)):
        session = SESSIONS[kind]()
        assert next(sampler.steps for sampler in session.stages(session.read({}))) == steps


def test_models_that_cannot_be_drawn_are_refused():
    bare = gn.Model(line_model().noising, line_model().score)
    with pytest.raises(ValueError, match="names its inputs and outputs"):
        Session(bare)
    space = gn.gp.GP(gn.kernels.SquaredExponential(1.0))
    with pytest.raises(ValueError, match="one or two inputs"):
        Session(gn.ProcessModel(space).with_variables(("x", "y", "z"), "t"))
    with pytest.raises(ValueError, match="samples"):
        Session(exact(GP_1D, line_model()), start={"samples": 0})


def test_targets_of_a_plane_are_as_dense_as_points_in_training():
    """A lattice of 31 x 31 points, of which 16 x 16 targets show a quarter; few points, all."""
    wide = ((0.0, 30.0), (-15.0, 15.0))
    assert window(TrainingSupport(wide, (), (31.0, 31.0), 1.0, 961, 0)) == (
        (7.5, 22.5),
        (-7.5, 7.5),
    )
    assert window(TrainingSupport(wide, (), (30.0, 30.0), 1.0, 80, 0)) == wide
    assert window(TrainingSupport(wide, (), (30.0, 0.0), 1.0, 80, 0)) == wide
