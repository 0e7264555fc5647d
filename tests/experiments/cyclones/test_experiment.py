"""The cyclone model's measures, with the exact score of a mixture of tracks in its place."""

import dataclasses

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp import train
from geomndp.data.ibtracs import Split
from geomndp.experiments.cyclones import training as cyclones
from geomndp.experiments.cyclones.evaluate import measure
from geomndp.experiments.cyclones.protocol import SPHERE, blur, task
from geomndp.geometry import heat_kernel
from geomndp.geometry.geodesy import EARTH_RADIUS_KM
from geomndp.score import HeatMixtureScore

from .test_baselines import synthetic

SPREAD = 1e-3
CENTRES = synthetic(3, seed=1)
TINY = {"width": 8, "num_layers": 1, "num_heads": 2, "expansion": 1, "bias_width": 4}


def centres(x):
    """Tracks by the hour: rows of x are found on the grid of the tracks."""
    rows = jnp.round(8 * x[:, 0]).astype(jnp.int32)
    return jnp.asarray(CENTRES.y, x.dtype)[:, rows]


@pytest.fixture(scope="module")
def parts():
    pick = np.arange(24) % 3
    y0 = jnp.asarray(CENTRES.y[pick])
    heat = heat_kernel(SPHERE)
    draw = jax.vmap(lambda y, key: heat.sample(jnp.full(50, SPREAD), y, key=key))
    y = np.asarray(draw(y0, jr.split(jr.key(0), len(pick))))
    tracks = dataclasses.replace(CENTRES.take(pick), y=y)
    return Split(tracks, tracks)


@pytest.fixture(scope="module")
def exact():
    model = cyclones.make_model("cyclones/ibtracs", key=jr.key(0), **TINY)
    return dataclasses.replace(model, score=HeatMixtureScore(centres, [SPREAD] * 3))


@pytest.mark.slow
def test_measures_of_the_exact_law(exact, parts):
    track_task = task("extrapolation")
    found = measure(exact, track_task, parts, key=jr.key(1), num_samples=24, steps=16)
    # Truth and sample are off by a heat kernel each, of a known variance a coordinate.
    expected = EARTH_RADIUS_KM * np.sqrt(np.pi / 2 * (2 * SPREAD + blur()))
    assert_allclose(found.sample_distance, expected, rtol=0.03)
    assert_allclose(found.mean_error, expected * np.sqrt((1 + 1 / 24) / 2), rtol=0.05)
    assert_allclose(found.coverage, 0.9, atol=0.035)
    time = jnp.full((30,), SPREAD + blur())
    where = jnp.asarray(CENTRES.y[np.arange(24) % 3][:, track_task.targets])
    truth = jnp.asarray(parts.test.y[:, track_task.targets])
    logs = jax.vmap(lambda c, y: jnp.sum(heat_kernel(SPHERE).log_prob(time, c, y)))(where, truth)
    assert_allclose(found.log_prob, float(jnp.mean(logs)), atol=0.1)


@pytest.mark.slow
def test_training_runs_and_lowers_the_loss(parts):
    model = cyclones.make_model("cyclones/ibtracs", key=jr.key(0), **TINY)
    generator = cyclones.tracks_generator("cyclones/ibtracs", parts.train, 16)
    start = train.init(
        model.score,
        model.noising,
        generator,
        cyclones.make_loss(),
        cyclones.make_optimiser("cyclones/ibtracs", 40, 1e-2),
        key=jr.key(1),
    )
    _, seen = train.train_steps(*start, 40)
    assert float(jnp.mean(seen.loss[-10:])) < 0.8 * float(jnp.mean(seen.loss[:5]))
