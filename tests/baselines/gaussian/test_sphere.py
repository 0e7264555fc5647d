"""Gaussian processes on the sphere by maximum likelihood."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp._types import Batch
from geomndp.baselines import fit_sphere_gp
from geomndp.baselines.gaussian.sphere import sphere_process

from ...globes import unit_vectors

TANGENT = np.log([0.35, 0.5, 8.0, 2.0, 0.5])


def fields(process, b, n, key):
    x = jnp.stack([unit_vectors(n, key=k) for k in jr.split(key, b)])
    y = jax.jit(jax.vmap(lambda x, key: process.sample(x, key=key)))(x, jr.split(key, b))
    ones = jnp.ones((b, n))
    return Batch(x, y, ones, 0 * ones)


@pytest.fixture(scope="module")
def hodge():
    return fields(sphere_process(TANGENT), 8, 40, jr.key(3))


def test_hodge_process_has_the_likelihood_of_the_truth(hodge):
    fit = fit_sphere_gp(hodge, max_points=40)
    assert fit.name == "Hodge GP"
    truth = sphere_process(TANGENT)
    log_probs = jax.jit(jax.vmap(truth.log_prob))(hodge.x, hodge.y)
    nats = fit.nats + 5 / hodge.y.size
    # Twice the gain over the truth is about a chi-squared variable of five degrees of freedom.
    gain = 2 * (nats * hodge.y.size - float(log_probs.sum()))
    assert 0 < gain < 20.5
    found = fit.process.kernel
    assert_allclose(found.first.potential.lengthscale, 0.35, rtol=0.25)
    assert found.first.variance > found.second.variance


def test_padding_and_missing_components_do_not_count(hodge):
    fit = fit_sphere_gp(hodge, max_points=40, max_iterations=2)
    mask = jnp.ones((8, 41, 2)).at[:, -1, 1].set(0.0)
    x = jnp.concatenate([hodge.x, hodge.x[:, :1]], axis=1)
    y = jnp.concatenate([hodge.y, jnp.full((8, 1, 2), jnp.nan)], axis=1).at[:, -1, 0].set(1e6)
    padded = fit_sphere_gp(Batch(x, y, mask, 0 * mask), max_points=40, max_iterations=2)
    # Other subsets in another order: the same points, the same likelihood.
    assert_allclose(padded.nats, fit.nats, rtol=1e-6)


def test_scalar_fields_about_a_mean():
    process = sphere_process(np.log([0.5, 1.0, 0.1]), shift=300.0, unit=5.0)
    data = fields(process, 8, 40, jr.key(5))
    fit = fit_sphere_gp(data, validation=[6, 7], max_points=40)
    assert fit.name == "zonal GP"
    held = jax.jit(jax.vmap(fit.process.log_prob))(data.x[6:], data.y[6:])
    assert_allclose(fit.nats, held.sum() / 80, rtol=1e-9)
    assert_allclose(fit.process.mean_at(data.x[0, :1]), 300.0, atol=5.0)
    truth = jax.jit(jax.vmap(process.log_prob))(data.x[6:], data.y[6:])
    assert held.sum() > truth.sum() - 20


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda b: b._replace(x=2 * b.x), "expected unit vectors as inputs"),
        (lambda b: b._replace(y=jnp.zeros((8, 40, 3))), "expected the number of outputs"),
        (lambda b: b._replace(y=b.y.at[0, 0, 0].set(jnp.nan)), "expected finite y"),
    ],
)
def test_refusals(hodge, change, message):
    with pytest.raises(ValueError, match=message):
        fit_sphere_gp(change(hodge))
