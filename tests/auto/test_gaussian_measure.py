"""Gaussian laws on tasks against the same laws by conditioning, in the data's units."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from geomndp.auto.gaussian_candidate import scaled
from geomndp.auto.gaussian_measure import GaussianMeasure, measure
from geomndp.auto.held_out import held_out
from geomndp.auto.units import tasks_in_units
from geomndp.auto.validation import validation_tasks
from geomndp.data import Normaliser
from geomndp.gp import GP
from geomndp.kernels import Coregionalised, SquaredExponential

LAW = GP(Coregionalised(SquaredExponential(0.5), ((1.0, 0.6), (0.6, 2.0))), noise=(0.05, 0.1))
UNITS = Normaliser(y_shift=(5.0, -1.0), y_scale=(2.0, 3.0))


def _functions():
    with jax.enable_x64(True):
        x = jr.uniform(jr.key(0), (6, 14, 1)) * 2
        y = jax.vmap(lambda x, key: LAW.sample(x, key=key))(x, jr.split(jr.key(1), 6))
        return np.asarray(x), np.asarray(UNITS.inverse_y(y))


@pytest.fixture(scope="module")
def tasks():
    x, y = _functions()
    mask = np.ones((6, 14), bool)
    mask[2, 9:] = False
    return validation_tasks(x, y, mask, np.arange(6), seed=0)


@pytest.mark.parametrize("factor", [1.0, 2.5])
def test_log_densities_are_those_of_the_scaled_law(tasks, factor):
    found = measure(LAW, UNITS, tasks).at(factor)
    own, targets, contexts = tasks_in_units(tasks, UNITS)
    expected = held_out(scaled(LAW, factor), own, key=jr.key(0))
    assert_allclose(found.targets, expected.targets + targets, rtol=1e-7)
    assert_allclose(found.context, expected.context + contexts, rtol=1e-7)


def test_transforms_are_those_of_the_conditional_law(tasks):
    pit = measure(LAW, UNITS, tasks).pit(2.0)
    start = tasks.num_context
    for i in (0, 7, 8):
        with jax.enable_x64(True):
            x, y = jnp.asarray(tasks.x[i]), UNITS.forward_y(jnp.asarray(tasks.y[i]))
            seen = jnp.asarray(tasks.context[i, :start])
            law = scaled(LAW, 2.0).condition(x[:start], y[:start], mask=seen)
            mean, std = law.mean_and_std(x[start:])
            expected = norm(mean, std).cdf(y[start:])
        real = tasks.mask[i, start:] > 0
        assert_allclose(pit[i].reshape(-1, 2)[real], expected[real], atol=1e-8)
        assert np.isnan(pit[i].reshape(-1, 2)[~real]).all()


def test_missing_outputs_do_not_count(tasks):
    x, y = _functions()
    mask = np.random.default_rng(0).uniform(size=y.shape) < 0.6
    mask[:, :3] = True
    gappy = validation_tasks(x, y, mask, np.arange(6), seed=0)
    found = measure(LAW, UNITS, gappy)
    assert_allclose(found.counts[:, 0], gappy.num_values())
    i, start = 4, gappy.num_context
    with jax.enable_x64(True):
        own = UNITS.forward_y(jnp.asarray(gappy.y[i]))
        whole = LAW.log_prob(jnp.asarray(gappy.x[i]), own, jnp.asarray(gappy.mask[i]))
        counts = gappy.mask[i].sum(axis=0)
    expected = float(whole) - counts @ np.log(UNITS.y_scale)
    assert_allclose(found.plain.targets[i] + found.plain.context[i], expected, rtol=1e-7)
    assert start == gappy.num_context


def test_parts_are_joined(tasks):
    whole = measure(LAW, UNITS, tasks)
    parts = [whole.take(np.arange(0, 7)), whole.take(np.arange(7, 18))]
    for found, expected in zip(
        jax.tree.leaves(GaussianMeasure.joined(parts)), jax.tree.leaves(whole), strict=True
    ):
        assert_allclose(found, expected)


def test_an_output_that_no_task_has_counts_for_nothing():
    x, y = _functions()
    mask = np.ones((6, 14, 2), bool)
    mask[..., 1] = False
    both = validation_tasks(x, y, mask, np.arange(6), seed=0)
    alone = validation_tasks(x, y[..., :1], mask[..., 0], np.arange(6), seed=0)
    first = GP(SquaredExponential(0.5), noise=0.05)
    found = measure(LAW, UNITS, both).plain
    expected = measure(first, Normaliser(y_shift=5.0, y_scale=2.0), alone).plain
    assert_allclose(found.targets, expected.targets, rtol=1e-7)
    assert_allclose(found.context, expected.context, rtol=1e-7)
