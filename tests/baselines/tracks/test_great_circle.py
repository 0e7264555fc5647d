"""Curves through context points."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp import baselines
from geomndp.geometry import Sphere

SPHERE = Sphere(2)
CURVES = (baselines.Persistence(), baselines.GreatCircle(), baselines.Hermite())
curve = pytest.mark.parametrize("baseline", CURVES, ids=lambda value: type(value).__name__)


@jax.jit
def steady(times, key):
    """A storm at constant speed on a great circle."""
    start_key, way_key = jr.split(key)
    start = SPHERE.uniform(1, key=start_key)
    way = 0.2 * SPHERE.project(start, jr.normal(way_key, (1, 3)))
    return SPHERE.exp(jnp.broadcast_to(start, (len(times), 3)), times * way)


@curve
def test_a_steady_storm_is_told_exactly(baseline, getkey):
    times = jnp.arange(12.0)[:, None] ** 1.5 / 8
    y = steady(times, getkey())
    known, targets = np.array([0, 2, 3, 8, 10, 11]), np.array([1, 5, 6, 9])
    found = baseline.condition(times[known], y[known]).mean(times[targets])
    assert_allclose(found, y[targets], atol=1e-9)


@pytest.mark.parametrize("baseline", CURVES[:2], ids=lambda value: type(value).__name__)
def test_beyond_the_known_points(baseline, getkey):
    times = jnp.arange(8.0)[:, None]
    y = steady(times, getkey())
    found = baseline.condition(times[3:5], y[3:5]).mean(jnp.concatenate([times[:3], times[5:]]))
    assert_allclose(found, jnp.concatenate([y[:3], y[5:]]), atol=1e-9)


@curve
def test_turning_the_sphere_turns_the_curve(baseline, getkey):
    turn = jnp.linalg.qr(jr.normal(getkey(), (3, 3)))[0]
    times = jnp.arange(9.0)[:, None]
    start = jnp.broadcast_to(SPHERE.uniform(1, key=getkey()), (9, 3))
    y = SPHERE.exp(start, SPHERE.project(start, 0.3 * jr.normal(getkey(), (9, 3))))
    known, x = np.array([0, 1, 7, 8]), times[2:7]
    here = baseline.condition(times[known], y[known]).mean(x)
    there = baseline.condition(times[known], y[known] @ turn).mean(x)
    assert_allclose(there, here @ turn, atol=1e-9)


def test_hermite_leaves_and_arrives_with_the_known_velocities(getkey):
    start = jnp.broadcast_to(SPHERE.uniform(1, key=getkey()), (4, 3))
    y = SPHERE.exp(start, SPHERE.project(start, 0.1 * jr.normal(getkey(), (4, 3))))
    times, small = jnp.array([[0.0], [1.0], [4.0], [5.0]]), 1e-6
    x = jnp.array([[1.0 + small], [4.0 - small]])
    first, last = baselines.Hermite().condition(times, y).mean(x)
    assert_allclose(SPHERE.log(y[1], first) / small, -SPHERE.log(y[1], y[0]), atol=1e-4)
    assert_allclose(SPHERE.log(y[2], last) / small, -SPHERE.log(y[2], y[3]), atol=1e-4)


def test_hermite_and_persistence_know_their_limits():
    times = jnp.arange(3.0)[:, None]
    y = jnp.broadcast_to(jnp.array([[1.0, 0.0, 0.0]]), (3, 3))
    with pytest.raises(ValueError, match="every target between context points"):
        baselines.Hermite().condition(times[:2], y[:2]).mean(times[2:])
    with pytest.raises(ValueError, match="at least 2 context points, got 1"):
        baselines.Persistence().condition(times[:1], y[:1]).mean(times[2:])
