"""Metrics from samples ask for the real targets alone: of a network, others move the samples."""

from typing import Any

import jax.numpy as jnp
import jax.random as jr
from numpy.testing import assert_allclose

import geomndp as gn
from geomndp.evaluate.ensemble import crps
from geomndp.predictive import AbstractPredictive, AbstractProcess


class CountingPredictive(AbstractPredictive):
    """Samples about the number of targets that were asked for, as a network might draw them."""

    def sample(self, x, *, key, num_samples, mask=None):
        count = jnp.asarray(len(x), x.dtype) if mask is None else jnp.sum(mask)
        return count + jr.normal(key, (num_samples, len(x), 1), x.dtype)

    def log_prob_info(self, *_: Any, **__: Any):
        raise NotImplementedError


class Counting(AbstractProcess):
    """Process whose samples depend on how many targets are drawn together."""

    def condition(self, *_: Any, **__: Any):
        return CountingPredictive()


def test_rows_that_are_no_targets_do_not_move_samples():
    x = jnp.linspace(-1.0, 1.0, 6)[None, :, None]
    context = jnp.asarray([[1.0, 0.0, 0.0, 1.0, 0.0, 0.0]])  # mixed with the targets
    mask = jnp.asarray([[1.0, 1.0, 1.0, 1.0, 1.0, 0.0]])
    batch, targets = gn.data.Batch(x, 0 * x, mask, context), (mask * (1 - context))[0]
    sizes: dict[str, Any] = {"num_samples": 4}

    found = gn.evaluate.calibration(Counting(), batch, key=jr.key(1), **sizes)
    key = jr.split(jr.split(jr.key(1), 1)[0])[0]
    expected = crps(3 + jr.normal(key, (4, 6, 1)), 0 * x[0])[:, 0]
    assert_allclose(found.crps, [jnp.sum(expected * targets)], rtol=1e-5)

    line = gn.geometry.Euclidean(1)
    paths = gn.evaluate.metrics(Counting(), batch, line, key=jr.key(1), **sizes)
    key = jr.split(jr.split(jr.key(1))[0], 1)[0]
    expected = jnp.mean(jnp.abs(3 + jr.normal(key, (4, 6, 1))), axis=0)[:, 0]
    assert_allclose(paths.sample_distance[0], jnp.where(targets > 0, expected, jnp.nan), rtol=1e-5)
