"""Measures of ensembles on the sphere: identities, propriety, calibration."""

import functools

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.evaluate import geodesic
from geomndp.geometry import Euclidean, Sphere, Torus

SPHERE = Sphere(2)
FORECASTS = 2500


def around(centre, spread, shape, *, key):
    """Draws exp_c(v) with v normal in the tangent plane; any law serves."""
    centre = jnp.broadcast_to(centre, (*shape, 3))
    return SPHERE.exp(centre, SPHERE.project(centre, spread * jr.normal(key, centre.shape)))


@jax.jit
def scores(samples, y, key):
    return geodesic.path_metrics(SPHERE, samples, y, key=key)


def rotation(key):
    return jnp.linalg.qr(jr.normal(key, (3, 3)))[0]


@pytest.fixture
def ensemble(getkey):
    centre = SPHERE.uniform(1, key=getkey())
    return around(centre, 0.3, (7, 4), key=getkey()), around(centre, 0.3, (4,), key=getkey())


def test_rotation_changes_nothing(ensemble, getkey):
    samples, y = ensemble
    turn, key = rotation(getkey()), getkey()
    here, there = scores(samples, y, key), scores(samples @ turn, y @ turn, key)
    for first, second in zip(here, there, strict=True):
        assert_allclose(first, second, atol=1e-9)


def test_by_hand():
    """Samples at 0 and 90 degrees on the equator, truth at 30: 45, 15, and 45 - 90 / 2."""
    equator = np.radians([0.0, 90.0, 30.0])
    locations = np.stack([np.cos(equator), np.sin(equator), 0 * equator], axis=-1)[:, None]
    samples, y = jnp.asarray(locations[:2]), jnp.asarray(locations[2])
    assert_allclose(geodesic.sample_distance(SPHERE, samples, y), np.radians([45]))
    assert_allclose(geodesic.mean_error(SPHERE, samples, y), np.radians([15]))
    assert_allclose(geodesic.energy_score(SPHERE, samples, y), [0.0], atol=1e-12)


def test_samples_that_agree_have_no_spread(getkey):
    y = SPHERE.uniform(5, key=getkey())
    samples = jnp.broadcast_to(SPHERE.uniform(5, key=getkey())[None], (6, 5, 3))
    distance = SPHERE.distance(samples[0], y)
    for measure in (geodesic.sample_distance, geodesic.mean_error, geodesic.energy_score):
        assert_allclose(measure(SPHERE, samples, y), distance, atol=1e-7)


def test_the_line_has_its_known_score(getkey):
    """In R^1 the energy score is the continuous ranked probability score."""
    from geomndp.evaluate import crps

    samples, y = jr.normal(getkey(), (9, 6, 1)), jr.normal(getkey(), (6, 1))
    found = geodesic.energy_score(Euclidean(1), samples, y)
    assert_allclose(found, crps(samples, y)[:, 0])


@functools.partial(jax.jit, static_argnums=2)
def forecast(spread, shift, size, key):
    """Scores of many forecasts around a moved centre; the truth has spread 0.3 around the pole."""
    shift = jnp.asarray(shift)
    sample_key, truth_key, rank_key = jr.split(key, 3)
    pole = jnp.array([0.0, 0.0, 1.0])
    truth = around(pole, 0.3, (FORECASTS,), key=truth_key)
    centre = jnp.stack([jnp.sin(shift), jnp.zeros_like(shift), jnp.cos(shift)])
    samples = around(centre, spread, (size, FORECASTS), key=sample_key)
    return geodesic.path_metrics(SPHERE, samples, truth, key=rank_key)


@pytest.mark.parametrize(("spread", "shift"), [(0.15, 0.0), (0.6, 0.0), (0.3, 0.3)])
def test_the_energy_score_prefers_the_truths_law(spread, shift):
    # The same truths and noise on both sides: differences have a small error.
    right = forecast(0.3, 0.0, 8, jr.key(1)).energy
    wrong = forecast(spread, shift, 8, jr.key(1)).energy
    gain = np.asarray(wrong - right)
    assert gain.mean() > 4 * gain.std() / np.sqrt(len(gain))


@pytest.mark.parametrize("size", [4, 10, 40])
def test_coverage_of_the_truths_own_law(size):
    ranks = forecast(0.3, 0.0, size, jr.key(2)).rank
    for level in (0.5, 0.9):
        error = np.sqrt(level * (1 - level) / FORECASTS)
        assert_allclose(geodesic.ball_coverage(ranks, level), level, atol=4 * error)


def test_coverage_tells_too_narrow_from_too_wide():
    narrow, wide = (forecast(spread, 0.0, 19, jr.key(3)).rank for spread in (0.15, 0.6))
    assert geodesic.ball_coverage(narrow) < 0.8 and geodesic.ball_coverage(wide) > 0.97


def test_float32_and_vmap(ensemble, getkey):
    samples, y = (value.astype(jnp.float32)[None] for value in ensemble)
    found = jax.jit(jax.vmap(scores))(samples, y, jr.split(getkey(), 1))
    assert all(value.shape == (1, 4) and value.dtype == jnp.float32 for value in found)


def test_refusals(ensemble, getkey):
    samples, y = ensemble
    with pytest.raises(ValueError, match=r"expected samples of shape \(s, 3, 3\)"):
        geodesic.sample_distance(SPHERE, samples, y[:3])
    with pytest.raises(ValueError, match="num_samples to be a whole number >= 2"):
        geodesic.energy_score(SPHERE, samples[:1], y)
    with pytest.raises(ValueError, match=r"0 < level < 1, got 1\.5"):
        geodesic.ball_coverage(y[:, 0], 1.5)
    with pytest.raises(ValueError, match=r"negative type \(Euclidean, Sphere\), got Torus"):
        geodesic.energy_score(Torus(1), samples[..., :2], y[..., :2])
