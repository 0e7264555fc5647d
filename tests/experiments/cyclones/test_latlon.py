"""The cyclone model in latitude and longitude: there and back, densities by area, training."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd
import pytest
from jax.scipy.stats import norm
from numpy.testing import assert_allclose

from geomndp import load, train
from geomndp.data.ibtracs import Split
from geomndp.experiments.cyclones import (
    langevin as cyclones_langevin,
    latlon,
    training as cyclones,
)
from geomndp.experiments.cyclones.evaluate import log_probs
from geomndp.experiments.cyclones.protocol import task, task_batch
from geomndp.geometry.geodesy import to_unit
from geomndp.gp import GP
from geomndp.kernels import Diagonal, White
from geomndp.score import GaussianScore

from .test_baselines import synthetic

TINY = {"width": 8, "num_layers": 1, "num_heads": 2}


@pytest.fixture(scope="module")
def tracks():
    """Synthetic tracks; the first crosses the date line."""
    some = synthetic(8, seed=3)
    crossing = to_unit(np.linspace(10, 20, 50), np.linspace(170, 200, 50))
    return dataclasses.replace(some, y=np.concatenate([crossing[None], some.y[1:]]))


@pytest.fixture(scope="module")
def model():
    return eqx.filter_jit(cyclones.make_model)("cyclones/ibtracs-latlon", key=jr.key(0), **TINY)


def to_sphere(y):
    """Points of the sphere from the model's units."""
    degrees = latlon.UNITS.inverse_y(y).reshape(-1, 2)
    return latlon.CHART.from_plane(degrees).reshape(*y.shape[:-1], 3)


def log_area(y):
    """Added to the density in the model's units: that by area."""
    stretch = latlon.CHART.stretch(latlon.UNITS.inverse_y(y))
    return latlon.UNITS.log_jacobian(y) + jnp.sum(jnp.log(stretch))


@pytest.mark.parametrize("name", ["joint", "interpolation", "extrapolation"])
def test_there_and_back(tracks, name):
    tasks = task_batch(task(name), tracks)
    units = latlon.to_units(tasks)
    assert_allclose(to_sphere(units.y), tasks.y, atol=2e-6)
    assert_allclose(jnp.std(units.x), 1, atol=0.01)
    assert float(jnp.max(jnp.abs(jnp.diff(units.y[0, :, 1])))) < 0.6  # no jump at the date line


def test_known_points_do_not_depend_on_targets(tracks):
    track_task = task("interpolation")
    tasks = task_batch(track_task, tracks)
    other = tasks._replace(y=tasks.y.at[:, 20:].set(-tasks.y[:, 20:]))
    both = [latlon.to_units(batch).y[:, :20] for batch in (tasks, other)]
    assert_allclose(*both, rtol=0)


def test_area_is_that_of_the_map_to_the_sphere(getkey):
    """Against the Gram determinant of the derivative, also beyond a pole."""
    y = jr.uniform(getkey(), (6, 2), minval=-3.0, maxval=3.0)
    jacobians = jax.vmap(jax.jacfwd(lambda u: to_sphere(u[None])[0]))(y)
    volumes = jnp.linalg.det(jnp.einsum("nci,ncj->nij", jacobians, jacobians))
    assert_allclose(log_area(y), -0.5 * jnp.sum(jnp.log(volumes)), rtol=1e-9)


def test_densities_by_area_integrate_to_one():
    """A Gaussian of the plane away from the poles, over a grid of the sphere."""
    lat, lon = np.meshgrid(np.linspace(-1.2, 1.2, 241), np.linspace(-3, 3, 301), indexing="ij")
    y = jnp.asarray(np.stack([lat, lon], axis=-1).reshape(-1, 2))
    logs = jnp.sum(norm.logpdf(y, 0.2, 0.15), axis=1) + jax.vmap(log_area)(y[:, None])
    cells = np.cos(lat).reshape(-1) * 0.01 * 0.02
    assert_allclose(jnp.sum(jnp.exp(logs) * cells), 1, rtol=1e-6)


def test_log_density_of_an_exact_law(model, tracks):
    """Independent points of variance v: N(y; 0, a^2 v + sigma^2) in radians, then by area."""
    variance, track_task = 2.0, task("extrapolation")
    exact = dataclasses.replace(model, score=GaussianScore(GP(Diagonal(White(variance), 2))))
    found = log_probs(exact, track_task, tracks, steps=12)
    y = latlon.to_units(task_batch(track_task, tracks)).y[:, len(track_task.context) :]
    kept = np.exp(-float(latlon.SCHEDULE.integral(jnp.asarray(model.t_min))))
    spread = float(np.sqrt(kept * variance + 1 - kept))
    expected = jnp.sum(norm.logpdf(y, 0.0, spread), axis=(1, 2)) + jax.vmap(log_area)(y)
    assert_allclose(found.value, expected, atol=0.1)
    assert float(jnp.max(found.solver_error)) < 0.1


@pytest.mark.slow
def test_training_lowers_the_loss(model, tracks):
    """Where all storms are at one place, which is soon learnt."""
    here = tracks.take(np.zeros(8, dtype=int))
    parts = (cyclones.tracks_generator("cyclones/ibtracs-latlon", here, 8), cyclones.make_loss())
    optimiser = cyclones.make_optimiser("cyclones/ibtracs", 40, 1e-2)
    start = train.init(model.score, model.noising, *parts, optimiser, key=jr.key(1))
    _, seen = train.train_steps(*start, 40)
    assert float(jnp.mean(seen.loss[-10:])) < 0.8 * float(jnp.mean(seen.loss[:10]))


def test_measures_by_the_same_calls_and_rows_of_the_langevin_sampler(model, tracks):
    sampler = cyclones_langevin.paper_langevin(2, 2, 2)
    options = {"num_storms": 2, "num_samples": 3, "key": jr.key(3), "sampler": sampler}
    rows = cyclones_langevin.langevin_rows(model, Split(tracks, tracks), **options)
    assert [row.task for row in rows] == ["interpolation", "extrapolation"]
    for row in rows:
        assert row.label.startswith("GeomNDP, Langevin (") and row.summary("log_prob") is None
        assert 0 < row.measures[0].sample_distance < 20100


def test_tables_are_refused():
    """Their longitudes jump at the date line, where those of the model run on."""
    shipped = load("cyclones/ibtracs-latlon")
    made = eqx.filter_eval_shape(latlon.make_latlon, key=jr.key(0), **TINY)
    assert shipped.variables is None and made.variables is None
    with pytest.raises(ValueError, match="expected arrays, got a table"):
        shipped.condition(pd.DataFrame({"time": [0.0], "lat": [10.0], "lon": [179.0]}))


def test_unknown_names_are_refused(tracks):
    with pytest.raises(ValueError, match="'cyclones/ibtracs-latlon', got 'cyclones/mars'"):
        cyclones.tracks_generator("cyclones/mars", tracks)
