"""Tracks in local maps: what is measured in maps is the law on the sphere."""

import dataclasses

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import geomndp as gn
from geomndp.auto.gaussian_measure import measure
from geomndp.auto.network_candidates import on_rows
from geomndp.auto.track_maps import TracksInMaps
from geomndp.auto.track_plan import FIXED, LOCAL, flat_plan, frames_for
from geomndp.auto.validation import validation_tasks
from geomndp.baselines import AzimuthalGP, Candidate
from geomndp.data import LocalFrame
from geomndp.geometry.geodesy import to_unit
from geomndp.gp import GP
from geomndp.kernels import Coregionalised, Matern52

KERNEL = Coregionalised(Matern52(1.0), ((1.0, 0.2), (0.2, 1.5)))


def migrations(count, *, seed=0, days=24):
    """Birds that leave a common region and go one of two ways around a sea."""
    rng = np.random.default_rng(seed)
    rows = []
    for bird in range(count):
        way = rng.choice([-1, 1])
        times = np.sort(rng.choice(np.arange(days), days - 4, replace=False)).astype(float)
        s = times / days
        speed = rng.normal(1.0, 0.12)
        lat = 55 - 50 * speed * s + rng.normal(0, 2) + rng.normal(0, 0.3, len(s))
        lon = 15 + way * 22 * np.sin(np.pi * np.clip(speed * s, 0, 1)) + rng.normal(0, 2)
        lon = lon + rng.normal(0, 0.3, len(s))
        rows.append(pd.DataFrame({"bird": bird, "day": times, "lat": lat, "lon": lon}))
    return pd.concat(rows, ignore_index=True)


def build(table, **options):
    names = {"function": "bird", "inputs": "day", "outputs": ("lat", "lon")}
    return gn.build(table, codomain="sphere", **names, **options)


@pytest.fixture(scope="module")
def plan():
    return build(migrations(12), key=0)


@pytest.mark.parametrize("name", [pytest.param(LOCAL, marks=pytest.mark.slow), FIXED])
def test_measures_in_maps_are_those_of_the_law_on_the_sphere(plan, name):
    frame = frames_for(plan.functions, translation=True)[name]
    flat = flat_plan(plan, frame, seed=0)
    law = GP(KERNEL, noise=(0.01, 0.01))
    x, y, mask = plan.functions[:3]
    tasks = validation_tasks(x, y, mask, np.arange(4), seed=0)
    held = measure(law, flat.model.normaliser, flat.maps.tasks(tasks)).plain
    expected = held.targets + flat.maps.log_areas(tasks)
    process = gn.ProcessModel(law, flat.model.normaliser, flat.model.variables, report="chosen")
    model = flat.maps.model(process)
    assert model.report == "chosen" and model.flat.report is None
    for row in range(0, len(expected), 5):
        start, counts = tasks.num_context, tasks.mask[row]
        given = [v[row, :start] for v in (tasks.x, tasks.y, tasks.context)]
        nats = model.condition(*given[:2], mask=given[2]).log_prob(
            tasks.x[row, start:], tasks.y[row, start:], mask=counts[start:]
        )
        assert_allclose(nats, expected[row], rtol=1e-6)


def test_batches_are_tracks_in_the_maps_of_their_contexts(plan):
    frame = LocalFrame()
    flat = flat_plan(plan, frame, seed=0)
    data, key = on_rows(flat.data, np.arange(5)), jr.key(3)
    batch, tracks = data.draw(key), dataclasses.replace(data, maps=None).draw(key)
    assert_allclose(batch.context, tracks.context)
    conditional = np.flatnonzero(tracks.context.sum(axis=1))
    assert 0 < len(conditional) < len(batch.x)
    units = flat.model.normaliser
    for row in conditional[:4]:
        x, y, real = tracks.x[row], tracks.y[row], tracks.mask[row] > 0
        chart = frame.at(x, y, tracks.context[row])
        assert_allclose(batch.x[row], units.forward_x(chart.inputs(x)), atol=1e-9)
        q = units.inverse_y(batch.y[row])
        assert_allclose(chart.from_map(q)[real], y[real], atol=1e-9)
        centre = np.sum(np.where(tracks.context[row][:, None] > 0, y, 0.0), axis=0)
        assert_allclose(chart.centre, centre / np.linalg.norm(centre))
    assert np.isfinite(batch.y).all()


def test_far_tracks_have_no_common_map():
    around = migrations(4)
    around.loc[around.bird == 1, "lon"] += 180
    around.loc[around.bird == 1, "lat"] *= -1
    plan = build(around, key=0)
    assert list(frames_for(plan.functions, translation=True)) == [LOCAL]
    absolute = frames_for(build(around, symmetry="none", key=0).functions, translation=False)
    assert absolute[LOCAL].covariates == ("centre_x", "centre_y", "centre_z")


def test_first_points_are_those_of_all_tracks(plan):
    late = np.arange(1200) >= 1000  # the last tracks in the table begin far from the others
    y = to_unit(np.where(late, -20.0, 50.0), np.zeros(1200))[:, None]
    functions = plan.functions._replace(x=np.zeros((1200, 1, 1)), y=y, mask=np.ones((1200, 1)))
    start = TracksInMaps(functions, LocalFrame()).start()
    share = np.mean(start.centres[:, 2] < 0)
    assert_allclose(share, 1 / 6, atol=0.01)


def test_options_of_a_network_need_steps():
    with pytest.raises(ValueError, match="steps"):
        gn.fit(build(migrations(4), width=16, key=0), minutes=1, key=0)


@pytest.mark.slow
def test_the_choice_beats_a_process_about_the_context_on_branching_tracks(tmp_path):
    train, new = migrations(60), migrations(24, seed=1)
    plan = build(train, key=0)
    model, report = gn.fit(plan, minutes=1, key=0, directory=tmp_path, quiet=True)
    assert isinstance(model, gn.ChartModel) and 0.75 < report.coverage["all"] < 0.99
    again = gn.load(tmp_path)
    x, y, mask = (np.asarray(values, float) for values in plan.functions[:3])
    options = {"candidates": (Candidate("M52+M12"),), "max_iterations": 20}
    simple = AzimuthalGP.fit(*map(jnp.asarray, (x, y)), mask=jnp.asarray(mask), **options)
    gains = []
    for _, bird in new.groupby("bird"):
        given, rest = bird[:8], bird[8:]
        days, degrees = bird[["day"]].to_numpy(), bird[["lat", "lon"]].to_numpy()
        points = to_unit(degrees[:, 0], degrees[:, 1])
        law = simple.condition(jnp.asarray(days[:8]), jnp.asarray(points[:8]))
        nats = law.log_prob(jnp.asarray(days[8:]), jnp.asarray(points[8:]))
        table = again.condition(given[["day", "lat", "lon"]])
        gains.append(table.log_prob(rest[["day", "lat", "lon"]]) - nats)
    assert np.mean(gains) > 2 * np.std(gains, ddof=1) / np.sqrt(len(gains))
