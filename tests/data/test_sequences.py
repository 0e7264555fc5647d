"""ContextSampler of functions whose points have an order."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from geomndp.data import ContextSampler
from geomndp.data.sequences import SequenceGenerator

N = 50


def generator(**options):
    x = jnp.broadcast_to(jnp.arange(N, dtype=float)[None, :, None] / 8, (5, N, 1))
    y = jnp.arange(5.0)[:, None, None] + x
    return SequenceGenerator(x=x, y=y, **options)


def test_four_kinds_of_context():
    batch = generator(batch_size=400, thinned_share=0.0).draw(jr.key(0))
    joint, start, ends, some = (np.asarray(batch.context[k::4]) for k in range(4))
    assert joint.sum() == 0
    assert (
        np.all(np.diff(start, axis=1) <= 0) and start[:, 0].min() == 1 and start[:, -1].max() == 0
    )
    assert abs((start.sum(1) == 20).mean() - 0.5) < 0.2
    assert ends[:, 0].min() == 1 and ends[:, -1].min() == 1 and ends[:, N // 2 - 1].max() == 0
    assert np.abs(np.diff(ends, axis=1)).sum(1).max() == 2
    both = (ends[:, :25].sum(1) == 10) & (ends[:, 25:].sum(1) == 10)
    assert abs(both.mean() - 0.5) < 0.2
    assert len(np.unique(some.sum(1))) > 20
    assert np.all(np.asarray(batch.mask) == 1)
    assert np.all(np.diff(np.asarray(batch.x[:, :, 0]), axis=1) > 0)


def test_no_key_is_used_twice():
    with jax.debug_key_reuse(True):
        eqx.filter_jit(generator(batch_size=4).draw)(jr.key(0))


def test_without_contexts_all_functions_are_joint():
    draws = generator(batch_size=4, contexts=None)
    assert not draws.conditional and np.all(np.asarray(draws.draw(jr.key(0)).context) == 0)


def test_contexts_say_how_many_functions_have_one():
    context = np.asarray(
        generator(batch_size=400, contexts=ContextSampler(share=0.5)).draw(jr.key(0)).context
    )
    assert np.all(context[::2] == 0)
    start, ends, some = (context[1 + 2 * k :: 6] for k in range(3))
    assert np.all(start[:, 0] == 1) and np.all(start[:, -1] == 0)
    assert np.all(ends[:, [0, -1]] == 1)
    assert some[:, 0].min() == 0 and len(np.unique(some.sum(1))) > 3


def test_contexts_say_how_many_points_are_few():
    contexts = ContextSampler(share=1.0, few=3, few_share=1.0)
    some = np.asarray(generator(batch_size=400, contexts=contexts).draw(jr.key(0)).context[2::3])
    assert set(np.unique(some.sum(1))) == {0, 1, 2, 3}
    seen = some.mean(0)  # any of the points, all alike
    assert np.all(np.abs(seen - seen.mean()) < 5 * np.sqrt(seen.mean() / len(some)))


def test_thinned_functions_keep_some_points():
    mask = np.asarray(generator(batch_size=400, thinned_share=0.5).draw(jr.key(1)).mask)
    whole = (mask == 1).all(1)
    assert abs(whole.mean() - 0.5) < 0.15
    assert len(np.unique(mask[~whole].sum(1))) > 20


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match="expected fixed contexts shorter than 50"):
        generator(fixed_lengths=(50, 10))
    with pytest.raises(ValueError, match="expected 0 <= thinned_share <= 1"):
        generator(thinned_share=2.0)
