"""`fit` trains a model's score; everything below it is tested in tests/train."""

import jax.numpy as jnp
import jax.random as jr
import pytest

from geomndp import fit
from geomndp._types import Batch


def _one(x, y) -> Batch:
    return Batch(x[None], y[None], jnp.ones((1, len(x))), jnp.zeros((1, len(x))))


def test_fit_returns_a_model_that_conditions(learnt, function):
    x, y = function
    model, history = fit(learnt, _one(x, y), steps=4, key=jr.key(0), quiet=True)
    assert model.score.conditional and history.steps[-1] == 4
    assert model.condition(x[:2], y[:2]).sample(x, key=jr.key(1), num_samples=2).shape == (2, 6, 1)


def test_exact_scores_are_not_trained(exact, function):
    with pytest.raises(ValueError, match="NetworkScore to train, got GaussianScore"):
        fit(exact, _one(*function), steps=1, key=jr.key(0))
