"""Masks per value, of outputs that are missing apart, say the same as masks of rows."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

import geomndp as gn
from geomndp.data import Batch
from geomndp.evaluate import calibration, log_likelihood
from geomndp.kernels import Diagonal, SquaredExponential

LAW = gn.gp.GP(Diagonal(SquaredExponential(0.5), 2), noise=0.1)


def tasks(mask):
    """Functions of two outputs, each with inputs of its own; the first two points are context."""
    b, n = mask.shape[:2]
    context = mask.at[:, 2:].set(0.0)
    x, y = jr.uniform(jr.key(0), (b, n, 1)), jr.normal(jr.key(1), (b, n, 2))
    return Batch(x, y, mask, context)


@pytest.fixture(scope="module")
def rows():
    return jnp.ones((3, 6)).at[1, 4:].set(0.0)


def test_of_whole_rows(rows):
    values = jnp.repeat(rows[..., None], 2, axis=2)
    both = [calibration(LAW, tasks(mask), key=jr.key(2), num_samples=8) for mask in (rows, values)]
    for part, wanted in zip(*both, strict=True):
        assert_allclose(part, wanted)


def test_targets_are_counted(rows):
    values = jnp.repeat(rows[..., None], 2, axis=2).at[:, 3, 0].set(0.0)
    found = log_likelihood(LAW, tasks(values), num_context=2)
    assert_allclose(found.num_targets, [4, 2, 4])


def test_of_missing_outputs(rows):
    values = jnp.repeat(rows[..., None], 2, axis=2).at[:, 3, 0].set(0.0)
    found = calibration(LAW, tasks(values), key=jr.key(2), num_samples=8)
    assert_allclose(found.num_values, [7, 3, 7])
    assert_allclose(np.isfinite(found.pit).sum(axis=1), [7, 3, 7])
    assert found.pit.shape == (3, 12)
