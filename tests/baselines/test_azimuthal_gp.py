"""A process in the map about the context: a density by area that turns with the track."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

import geomndp as gn
from geomndp.baselines import AzimuthalGP, Candidate
from geomndp.geometry.azimuthal import centre_of, from_map, to_map
from geomndp.geometry.geodesy import to_unit

KERNEL = gn.kernels.Coregionalised(gn.kernels.Matern32(20.0), ((1.0, 0.3), (0.3, 2.0)))
BASELINE = AzimuthalGP(gn.gp.GP(KERNEL, noise=(0.05, 0.05)), 0.3)
X = jnp.asarray([[0.0], [6.0], [12.0], [18.0]])
Y = jnp.asarray(to_unit(np.array([-10.0, -11, -13, -16]), np.array([178.0, 179, -179, -178])))


def test_the_map_is_inverted_and_points_east_and_north():
    centre = centre_of(Y, None)
    assert_allclose(from_map(centre, to_map(centre, Y)), Y, atol=1e-12)
    east, north = to_unit(np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    here = jnp.asarray([1.0, 0.0, 0.0])
    q = to_map(here, jnp.asarray(np.stack([east, north])))
    assert_allclose(q, np.radians(1.0) * np.eye(2), atol=1e-12)


def test_the_density_integrates_to_one_over_the_sphere():
    lat = np.degrees(np.arcsin(np.linspace(-1, 1, 401)[:-1] + 1 / 400))
    lon = np.arange(0.0, 360, 0.9)
    points = jnp.asarray(to_unit(*(v.ravel() for v in np.meshgrid(lat, lon, indexing="ij"))))
    law = BASELINE.condition(X[:2], Y[:2])
    log_prob = jax.jit(jax.vmap(lambda y: law.log_prob_info(X[2:3], y[None]).value))(points)
    assert_allclose(np.exp(log_prob).mean() * 4 * np.pi, 1.0, rtol=2e-3)


def test_masked_rows_do_not_count():
    law = BASELINE.condition(X[:2], Y[:2])
    mask = jnp.asarray([1.0, 1.0, 0.0])
    wrong = jnp.concatenate([Y[:2], jnp.zeros((1, 3))])
    padded = BASELINE.condition(X[:3], wrong, mask=mask)
    assert_allclose(padded.log_prob(X[2:], Y[2:]), law.log_prob(X[2:], Y[2:]), rtol=1e-9)
    assert_allclose(padded.mean(X[2:]), law.mean(X[2:]), atol=1e-9)


def test_samples_are_about_the_mean():
    law = BASELINE.condition(X[:3], Y[:3])
    draws = law.sample(X[3:], key=jr.key(0), num_samples=4000)
    centre = centre_of(Y[:3], None)
    q, mean = jax.vmap(lambda y: to_map(centre, y))(draws), to_map(centre, law.mean(X[3:]))
    error = 4 * q.std(axis=0, ddof=1) / np.sqrt(4000)
    assert np.all(np.abs(q.mean(axis=0) - mean) < error)


def test_a_turn_about_the_axis_changes_nothing():
    turn = np.radians(70.0)
    spin = jnp.asarray(
        [[np.cos(turn), -np.sin(turn), 0], [np.sin(turn), np.cos(turn), 0], [0, 0, 1]]
    )
    laws = [BASELINE.condition(X[:2], y[:2]).log_prob(X[2:], y[2:]) for y in (Y, Y @ spin.T)]
    assert_allclose(laws[0], laws[1], rtol=1e-9)


def test_no_context_is_refused():
    with pytest.raises(ValueError, match="expected at least one context point"):
        BASELINE.condition(X[:0], Y[:0]).mean(X)


@pytest.mark.slow
def test_fitted_to_tracks_it_predicts_others():
    """Tracks of a smooth process: ahead of a law without memory, close to that process."""
    law = BASELINE.condition(X[:1], Y[:1])
    times = jnp.arange(8.0)[:, None] * 6
    tracks = law.sample(times + 1, key=jr.key(1), num_samples=60)
    x = jnp.broadcast_to(times, (60, 8, 1))
    fitted = AzimuthalGP.fit(x[:40], tracks[:40], candidates=(Candidate("M32"),))
    kernel = gn.kernels.Coregionalised(gn.kernels.Matern32(0.1), KERNEL.matrix)
    forgetful = AzimuthalGP(gn.gp.GP(kernel), BASELINE.radians)
    nats = [
        np.mean([each.condition(x[0, :4], y[:4]).log_prob(x[0, 4:], y[4:]) for y in tracks[40:]])
        for each in (fitted, BASELINE, forgetful)
    ]
    assert nats[2] + 2 < nats[0] and nats[1] - 2 < nats[0]
