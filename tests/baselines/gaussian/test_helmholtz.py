"""Gaussian processes of vector fields by maximum likelihood."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp._types import Batch
from geomndp.baselines import fit_gp, fit_helmholtz_gp
from geomndp.baselines.gaussian.helmholtz import helmholtz_process

THETA = np.log([0.3, 0.5, 1.0, 0.1, 0.05, 0.02])
EXTENT, UNIT = 200.0, 7.0
"""Inputs in kilometres, say, and values far from one."""
POINTS = 24


def fields(process, dim, b, key):
    x = EXTENT * jr.uniform(key, (b, POINTS, dim))
    y = jax.jit(jax.vmap(lambda x, key: process.sample(x, key=key)))(x, jr.split(key, b))
    ones = jnp.ones((b, POINTS))
    return Batch(x, y, ones, 0 * ones)


@pytest.fixture(scope="module")
def truth():
    return helmholtz_process("matern-52", 2, THETA, EXTENT, UNIT)


@pytest.fixture(scope="module")
def winds(truth):
    return fields(truth, 2, 12, jr.key(3))


def test_it_has_the_likelihood_of_the_truth(truth, winds):
    fit = fit_helmholtz_gp(winds, potentials=("matern-52",))
    own = float(jnp.sum(jax.jit(jax.vmap(fit.process.log_prob))(winds.x, winds.y)))
    assert_allclose(fit.nats, (own - len(THETA)) / winds.y.size, rtol=1e-9)
    gain = 2 * (own - float(jnp.sum(jax.jit(jax.vmap(truth.log_prob))(winds.x, winds.y))))
    assert 0 < gain < 23  # a chi-squared variable of six degrees of freedom: 1 in 1,000 above


def test_held_out_fields_choose_the_potential_and_prefer_it_to_a_pooled_process(winds):
    potentials = ("squared-exponential", "matern-52")
    fit = fit_helmholtz_gp(winds, validation=range(8, 12), potentials=potentials)
    assert fit.state == "matern-52" and "matern-52" in fit.name
    held = jax.jit(jax.vmap(fit.process.log_prob))(winds.x[8:], winds.y[8:])
    assert_allclose(fit.nats, held.sum() / winds.y[8:].size, rtol=1e-9)
    pooled = fit_gp(winds, validation=range(8, 12)).process
    others = jax.jit(jax.vmap(lambda x, y: pooled.log_prob(x, y)))(winds.x[8:], winds.y[8:])
    assert held.sum() > others.sum()


def test_it_turns_with_the_fields(winds):
    turn = jnp.asarray([[0.6, -0.8], [0.8, 0.6]])
    options = {"potentials": ("matern-72",), "max_iterations": 3}
    plain = fit_helmholtz_gp(winds, **options)
    turned = fit_helmholtz_gp(winds._replace(x=winds.x @ turn.T, y=winds.y @ turn.T), **options)
    # The extent, from which the search starts, differs: the likelihood of one law does not.
    law = plain.process.log_prob
    values = [law(winds.x[0], winds.y[0]), law(winds.x[0] @ turn.T, winds.y[0] @ turn.T)]
    assert_allclose(*values, rtol=1e-9)
    assert_allclose(turned.nats, plain.nats, atol=0.2)


def test_padding_and_incomplete_vectors_do_not_count(winds):
    options = {"potentials": ("squared-exponential",), "max_iterations": 2, "max_points": POINTS}
    plain = fit_helmholtz_gp(winds, **options)
    mask = jnp.ones((12, POINTS + 1, 2)).at[:, -1, 1].set(0.0)
    x = jnp.concatenate([winds.x, winds.x[:, :1]], axis=1)
    y = jnp.concatenate([winds.y, jnp.full((12, 1, 2), 1e6)], axis=1).at[:, -1, 1].set(jnp.nan)
    padded = fit_helmholtz_gp(Batch(x, y, mask, 0 * mask), **options)
    assert_allclose(padded.nats, plain.nats, rtol=1e-6)


def test_fields_in_space():
    process = helmholtz_process("squared-exponential", 3, THETA, EXTENT, UNIT)
    data = fields(process, 3, 6, jr.key(5))
    fit = fit_helmholtz_gp(data, potentials=("squared-exponential",), max_iterations=20)
    own, true = (jax.jit(jax.vmap(p.log_prob))(data.x, data.y) for p in (fit.process, process))
    assert own.sum() > true.sum() - 3


@pytest.mark.parametrize("outputs", [1, 3])
def test_values_that_are_no_vectors_are_refused(winds, outputs):
    with pytest.raises(ValueError, match="expected vectors in two or three dimensions, got 2 in"):
        fit_helmholtz_gp(winds._replace(y=jnp.zeros((12, POINTS, outputs))))
