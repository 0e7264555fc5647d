"""The cyclone table: tasks, measures, rows; the reference figures on the real tracks."""

import dataclasses
import json
import os

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp import baselines
from geomndp.data import ibtracs
from geomndp.experiments.cyclones import baselines as track_baselines, protocol, rows as rows_of
from geomndp.experiments.cyclones.experiment import EXPERIMENT
from geomndp.geometry.geodesy import EARTH_RADIUS_KM, to_unit
from geomndp.predictive import AbstractPredictive, AbstractProcess, exact_log_prob


def synthetic(count, seed):
    rng = np.random.default_rng(seed)
    start = np.stack([rng.uniform(-25, 25, count), rng.uniform(-180, 180, count)], axis=-1)
    steps = rng.normal(0, 0.2, (count, 1, 2)) + 0.02 * rng.normal(size=(count, 49, 2)).cumsum(1)
    path = np.concatenate([start[:, None], start[:, None] + steps.cumsum(axis=1)], axis=1)
    x = np.broadcast_to(np.arange(50.0)[:, None] / 8, (count, 50, 1)).copy()
    sid = np.array([f"{seed}-{i}" for i in range(count)])
    zeros = np.zeros(count, dtype=int)
    y = to_unit(path[..., 0], path[..., 1])
    return ibtracs.Tracks(x, y, sid, zeros, sid, zeros.astype("datetime64[s]"), zeros, {})


def test_tasks():
    inner, outer = protocol.task("interpolation"), protocol.task("extrapolation")
    assert list(inner.context) == [*range(10), *range(40, 50)] and len(inner.targets) == 30
    assert list(outer.context) == list(range(20)) and list(outer.targets) == list(range(20, 50))
    assert len(protocol.task("joint").targets) == 50
    with pytest.raises(ValueError, match="interpolation, extrapolation, joint, got 'middle'"):
        protocol.task("middle")


def test_the_blur_bounds_densities_at_566_nats():
    assert_allclose(-50 * np.log(2 * np.pi * protocol.blur()), 566, atol=0.5)


class Sides(AbstractPredictive):
    """Samples 100 km to either side of (1, 0, 0)."""

    def sample(self, x, *, key, num_samples):
        angle = 100 / EARTH_RADIUS_KM
        sides = jnp.array([[np.cos(angle), sign * np.sin(angle), 0.0] for sign in (1, -1)])
        return jnp.broadcast_to(sides[:, None], (num_samples, len(x), 3))

    def log_prob_info(self, x, y, *, key=None, mask=None):
        return exact_log_prob(jnp.zeros((), x.dtype))


class SidesProcess(AbstractProcess):
    """A process of a user, in one place."""

    def condition(self, x, y, noise=0.0, mask=None):
        return Sides()


def test_measures_are_in_kilometres():
    track_task = protocol.task("extrapolation")
    tracks = synthetic(2, 0)
    truth = dataclasses.replace(tracks, y=np.broadcast_to([1.0, 0.0, 0.0], tracks.y.shape))
    tasks = protocol.task_batch(track_task, truth, "float64")
    found = protocol.measure(SidesProcess(), track_task, tasks, key=jr.key(0), num_samples=2)
    assert_allclose(found[:3], [100, 0, 0], atol=1e-6)
    assert_allclose(found.lead_errors, [0, 0, 0], atol=1e-6)
    assert found.log_prob == 0


def test_rows_there_and_back():
    part = ibtracs.Split(synthetic(200, 0), synthetic(6, 1))
    names = ("persistence of the last velocity", "linear-Gaussian, local frame")
    rows = track_baselines.baseline_rows([part, part], names=names, num_samples=4)
    assert [row.task for row in rows] == ["extrapolation", *rows_of.TASKS]
    assert rows_of.from_json(json.loads(json.dumps(rows_of.to_json(rows)))) == rows
    mean, spread = rows[0].summary("mean_error")
    assert mean > 0 and spread == 0
    assert rows[0].summary("log_prob") is None


def test_measured_rows_lie_in_the_package():
    rows = rows_of.stored_rows("storms", EXPERIMENT.results)
    assert {row.label for row in rows} >= set(track_baselines.BASELINES)
    assert all(len(row.measures) == 5 for row in rows if row.label in track_baselines.BASELINES)
    (linear,) = (
        row for row in rows if (row.label, row.task) == ("linear-Gaussian, local frame", "joint")
    )
    assert_allclose(linear.summary("log_prob")[0], 460, atol=3)
    with pytest.raises(ValueError, match="one of 'storms', 'seasons', got 'months'"):
        rows_of.stored_rows("months", EXPERIMENT.results)


def measured(baseline, name, tracks, **options):
    track_task = protocol.task(name)
    tasks = protocol.task_batch(track_task, tracks, "float64")
    return protocol.measure(baseline, track_task, tasks, key=jr.key(0), **options)


def test_a_single_track_has_no_coverage():
    part = synthetic(5, 2)
    found = measured(baselines.GreatCircle(), "interpolation", part)
    assert_allclose(found[:3], [found.mean_error] * 3)
    assert found[3:] == (None, None, None)


@pytest.fixture(scope="module")
def tracks():
    if not os.environ.get(ibtracs.VARIABLE):
        pytest.skip(f"real tracks: set {ibtracs.VARIABLE} to the folder that holds them")
    return ibtracs.cyclones()


@pytest.mark.slow
def test_reference_figures_of_curves(tracks):
    """Mean over all 5403 tracks, as in the design: 417 (147, 396, 976), 167 and 101 km."""
    found = measured(baselines.Persistence(), "extrapolation", tracks)
    assert_allclose([found.mean_error, *found.lead_errors], [417, 147, 396, 976], rtol=0.005)
    straight = measured(baselines.GreatCircle(), "interpolation", tracks)
    assert_allclose(straight.mean_error, 167, rtol=0.005)
    curved = measured(baselines.Hermite(steps=2), "interpolation", tracks)
    assert_allclose(curved.mean_error, 101, rtol=0.005)


@pytest.mark.slow
def test_reference_figures_of_the_regression(tracks):
    """One split: mean errors 90 and 341 km, log-densities 460, 292 and 282 nats."""
    train, test = ibtracs.split_by_storm(tracks, 0)
    fitted = baselines.LinearGaussian.fit(jnp.asarray(train.x), jnp.asarray(train.y))
    baseline = track_baselines.blurred(fitted)
    expected = {"joint": (460, None), "interpolation": (292, 90), "extrapolation": (282, 341)}
    for name, (nats, km) in expected.items():
        found = measured(baseline, name, test)
        assert_allclose(found.log_prob, nats, atol=5)
        if km is not None:
            assert_allclose(found.mean_error, km, rtol=0.06)
