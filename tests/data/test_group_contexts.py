"""Contexts of functions whose outputs are missing apart."""

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from geomndp._types import Batch
from geomndp.data import ContextSampler, ResampledGenerator
from geomndp.data.group_contexts import drop_values, group_contexts

NUM, POINTS = 400, 12


@pytest.fixture
def functions(getkey):
    """Values that say where they are, half of them missing."""
    place = jnp.arange(NUM * POINTS, dtype=float).reshape(NUM, POINTS, 1)
    y = jnp.concatenate([place, -place], axis=2)
    mask = jr.bernoulli(getkey(), 0.5, y.shape).astype(y.dtype).at[:, 0].set(1.0)
    return Batch(place, y, mask, jnp.zeros_like(mask))


def test_values_and_masks_stay_together(functions, getkey):
    generator = ResampledGenerator(
        functions=functions, batch_size=300, thinned_share=0.5, forecast_share=0.5
    )
    batch = eqx.filter_jit(generator.draw)(getkey())
    x = np.asarray(batch.x[:, :, 0]).astype(int)
    known = np.asarray(functions.mask).reshape(-1, 2)[x.reshape(-1)].reshape(batch.mask.shape)
    mask, context = np.asarray(batch.mask), np.asarray(batch.context)
    assert (mask <= known).all() and (context <= mask).all()
    np.testing.assert_array_equal(batch.y[:, :, 1], -batch.x[:, :, 0])
    conditional = np.asarray(generator.contexts.conditional(300))
    assert not context[~conditional].any()
    whole = (mask == known).all(axis=(1, 2))
    assert 0.05 < whole.mean() < 0.95
    rows = mask.any(axis=2) & (context.any(axis=2))
    apart = rows & ((mask - context).any(axis=2))
    assert 0.1 < apart.any(axis=1)[conditional].mean() < 0.9, "some points are observed in part"


def test_contexts_of_all_patterns(getkey):
    mask = jnp.ones((NUM, POINTS, 2))
    points = jnp.full(NUM, POINTS, jnp.int32)
    context = np.asarray(group_contexts(mask, points, ContextSampler(share=1.0), key=getkey()))
    counts = context.sum(axis=1)
    whole = (counts == POINTS).any(axis=1) & (counts == 0).any(axis=1)
    assert whole.any(), "one output everywhere, the other nowhere"
    together = (context[:, :, 0] == context[:, :, 1]).all(axis=1)
    assert 0.4 < together.mean() < 0.75
    assert group_contexts(mask, points, None, key=getkey()).sum() == 0


def test_no_function_loses_all_its_values(functions, getkey):
    fewer = drop_values(functions.mask, 1.0, key=getkey())
    assert (fewer <= functions.mask).all()
    assert (fewer.max(axis=(1, 2)) == 1).all()
    share = fewer.sum() / functions.mask.sum()
    assert 0.4 < share < 0.6
    assert (drop_values(functions.mask, 0.0, key=getkey()) == functions.mask).all()
