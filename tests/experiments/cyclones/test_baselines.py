"""The cyclone table: tasks, measures, rows; the reference figures on the real tracks."""

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
from geomndp.experiments.cyclones.rows import Measures
from geomndp.geometry.geodesy import EARTH_RADIUS_KM, to_unit


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
    assert list(inner.known) == [*range(10), *range(40, 50)] and len(inner.targets) == 30
    assert list(outer.known) == list(range(20)) and list(outer.targets) == list(range(20, 50))
    assert len(protocol.task("joint").targets) == 50
    with pytest.raises(ValueError, match="interpolation, extrapolation, joint, got 'middle'"):
        protocol.task("middle")


def test_the_blur_bounds_densities_at_566_nats():
    assert_allclose(-50 * np.log(2 * np.pi * protocol.blur()), 566, atol=0.5)


def test_measures_are_in_kilometres():
    """Samples 100 km to either side of the truth."""
    which = protocol.task("extrapolation")
    angle = 100 / EARTH_RADIUS_KM
    truth = jnp.broadcast_to(jnp.array([1.0, 0.0, 0.0]), (2, 30, 3))
    sides = jnp.array([[np.cos(angle), sign * np.sin(angle), 0.0] for sign in (1, -1)])
    samples = jnp.broadcast_to(sides[None, :, None], (2, 2, 30, 3))
    found = protocol.score_samples(which, samples, truth, key=jr.key(0))
    assert_allclose(found[:3], [100, 0, 0], atol=1e-6)
    assert_allclose(found.lead_errors, [0, 0, 0], atol=1e-6)


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


def test_a_single_track_has_no_coverage():
    part = synthetic(5, 2)
    x, y = jnp.asarray(part.x[0]), jnp.asarray(part.y)
    which = protocol.task("interpolation")
    found = protocol.score_baseline(baselines.GreatCircle(), which, x, y, key=jr.key(0))
    assert found == Measures(*[found.mean_error] * 3)


@pytest.fixture(scope="module")
def tracks():
    if not os.environ.get(ibtracs.VARIABLE):
        pytest.skip(f"real tracks: set {ibtracs.VARIABLE} to the folder that holds them")
    return ibtracs.cyclones()


@pytest.mark.slow
def test_reference_figures_of_curves(tracks):
    """Mean over all 5403 tracks, as in the design: 417 (147, 396, 976), 167 and 101 km."""
    x, y = jnp.asarray(tracks.x[0]), jnp.asarray(tracks.y)

    def error(baseline, name):
        return protocol.score_baseline(baseline, protocol.task(name), x, y, key=jr.key(0))

    found = error(baselines.Persistence(), "extrapolation")
    assert_allclose([found.mean_error, *found.lead_errors], [417, 147, 396, 976], rtol=0.005)
    straight = error(baselines.GreatCircle(), "interpolation")
    assert_allclose(straight.mean_error, 167, rtol=0.005)
    curved = error(baselines.Hermite(steps=2), "interpolation")
    assert_allclose(curved.mean_error, 101, rtol=0.005)


@pytest.mark.slow
def test_reference_figures_of_the_regression(tracks):
    """One split: mean errors 90 and 341 km, log-densities 460, 292 and 282 nats."""
    train, test = ibtracs.split_by_storm(tracks, 0)
    x, truth = jnp.asarray(train.x), jnp.asarray(test.y)
    baseline = baselines.LinearGaussian.fit(x, jnp.asarray(train.y))
    expected = {"joint": (460, None), "interpolation": (292, 90), "extrapolation": (282, 341)}
    for name, (nats, km) in expected.items():
        which = protocol.task(name)
        forecast = baseline.forecast(x[0][which.known], x[0][which.targets])
        known, targets = truth[:, which.known], truth[:, which.targets]

        density = protocol._log_probs(forecast, known, targets, protocol.blur())
        assert_allclose(jnp.mean(density), nats, atol=5)
        if km is not None:
            mean = protocol._means(forecast, known)
            error = EARTH_RADIUS_KM * protocol.SPHERE.distance(mean, targets)
            assert_allclose(jnp.mean(error), km, rtol=0.06)
