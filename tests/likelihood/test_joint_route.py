"""Two solves that share their probes: the error that is reported is the one that is made."""

import dataclasses

import jax
import jax.numpy as jnp
import jax.random as jr
import pytest
from numpy.testing import assert_allclose

from geomndp.likelihood import Flow, Hutchinson
from geomndp.model.likelihood_routes import equation, log_prob, solves
from geomndp.samplers import pad_problem, pad_rows

from ..samplers.helper import case, hurried

KEYS = 64
slow = pytest.mark.slow


def task(kind="rademacher"):
    problem = case("white", m=4, n=3, key=jr.key(0), width=0.4).problem
    return Flow(steps=6, divergence=Hutchinson(6, kind)), problem, jnp.ones((3, 1)) * 0.3


@pytest.mark.parametrize("kind", ["rademacher", pytest.param("gaussian", marks=slow)])
def test_probe_error_is_the_spread_over_keys(kind):
    flow, problem, y = task(kind)

    def values(problem):
        def one(key):
            found = log_prob(flow, problem, y, None, key, "joint")
            return found.value, found.probe_error

        return jax.lax.map(one, jr.split(jr.key(1), KEYS), batch_size=KEYS)

    value, error = hurried(values, problem)
    ratio = float(jnp.std(value, ddof=1) / jnp.sqrt(jnp.mean(error**2)))
    # The ratio of 64 draws has a standard deviation of about 0.1.
    assert 0.6 < ratio < 1.5


def test_both_solves_see_the_same_probes_of_the_context():
    flow, problem, y = task()
    assert solves(problem, "joint") == ("joint", "context")
    joint, context = (
        equation(flow, problem, y, jr.key(2), part)[2] for part in solves(problem, "joint")
    )
    assert_allclose(joint[:, : problem.num_observed], context)
    targets = equation(flow, problem, y, jr.key(2), "conditional")[2]
    assert_allclose(joint[:, problem.num_observed :], targets)
    assert bool(jnp.any(joint[:, : len(y)] != targets))


@pytest.mark.parametrize("divergence", ["probes", pytest.param("exact", marks=slow)])
@pytest.mark.parametrize("route", [pytest.param("conditional", marks=slow), "joint"])
def test_padding_changes_nothing(route, divergence):
    flow, problem, y = task("gaussian")
    flow = Flow(steps=6) if divergence == "exact" else flow
    padded = pad_problem(problem, 6, 4)

    def both(problem, padded):
        plain = log_prob(flow, problem, y, None, jr.key(3), route)
        return plain, log_prob(flow, padded, pad_rows(y, 4), None, jr.key(3), route)

    for found, expected in zip(*hurried(both, problem, padded), strict=True):
        assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def test_chunks_of_probes_change_nothing():
    flow, problem, y = task()
    split = dataclasses.replace(flow, divergence=Hutchinson(6, chunk=4))

    def both(problem):
        return [log_prob(one, problem, y, None, jr.key(4), "joint") for one in (flow, split)]

    for found, expected in zip(*hurried(both, problem), strict=True):
        assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
