"""Training batches: numbers of points, contexts, the order of points."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from geomndp import data
from geomndp._types import Batch


@pytest.fixture(scope="module")
def batches():
    generator = data.regression1d("paper", "se").generator(64)
    return generator, jax.jit(jax.vmap(generator.draw))(jr.split(jr.key(0), 60))


def test_shapes_and_ranges(batches):
    generator, batch = batches
    assert batch.x.shape == batch.y.shape == (60, 64, 60, 1)
    assert batch.mask.shape == batch.context.shape == (60, 64, 60)
    assert float(batch.x.min()) >= -2 and float(batch.x.max()) <= 2
    assert generator.conditional


def test_numbers_of_points_are_uniform(batches):
    points = np.asarray(batches[1].mask.sum(-1)).ravel().astype(int)
    assert points.min() == 1 and points.max() == 60
    num = len(points)
    assert abs(points.mean() - 30.5) < 5 * np.sqrt((60**2 - 1) / 12 / num)
    counts = np.bincount(points, minlength=61)[1:]
    assert counts.max() < num / 60 + 6 * np.sqrt(num / 60)


def test_real_points_come_first(batches):
    mask = np.asarray(batches[1].mask)
    assert np.all(np.diff(mask, axis=-1) <= 0)


def test_half_the_functions_have_contexts_and_all_have_targets(batches):
    batch = batches[1]
    context, mask = np.asarray(batch.context), np.asarray(batch.mask)
    assert np.all(context <= mask)
    assert np.all((mask - context).sum(-1) >= 1)
    counts = context.sum(-1)
    assert np.all(counts[:, ::2] == 0)
    few = np.mean(counts[:, 1::2] <= 10)
    points = mask.sum(-1)[:, 1::2]
    # Half are at most 10 by choice; of the others, U{0..n-1} is with probability min(11/n, 1).
    expected = 0.5 + 0.5 * np.mean(np.minimum(11 / points, 1))
    assert abs(few - expected) < 5 * np.sqrt(expected * (1 - expected) / points.size)


def test_same_key_same_batch(getkey):
    generator, key = data.regression1d("paper", "sawtooth").generator(4), getkey()
    draw = eqx.filter_jit(generator.draw)
    for first, second in zip(draw(key), draw(key), strict=True):
        assert_array_equal(first, second)


def test_joint_streams_have_no_context(getkey):
    generator = data.regression1d("paper", "se").generator(4, contexts=None, dtype="float32")
    batch = eqx.filter_jit(generator.draw)(getkey())
    assert not generator.conditional
    assert batch.y.dtype == jnp.float32
    assert not np.any(batch.context)


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_share_of_conditional_functions(share, getkey):
    contexts = data.ContextSampler(share=share, few_share=0.0)
    counts = contexts.counts(jnp.full(4000, 60, jnp.int32), key=getkey())
    assert np.mean(np.asarray(counts) > 0) <= share
    assert abs(np.mean(np.asarray(counts) > 0) - share * 59 / 60) < 0.02


def test_resampled_functions_are_those_of_the_data_set(getkey):
    x = jnp.arange(12.0).reshape(3, 4, 1)
    mask = jnp.asarray([[1.0, 1, 0, 0], [1, 1, 1, 1], [1, 0, 1, 1]])
    functions = Batch(x, 10 * x, mask, jnp.zeros((3, 4)))
    batch = eqx.filter_jit(data.ResampledGenerator(functions, batch_size=50).draw)(getkey())
    known = {tuple(sorted(np.asarray(x[i, :, 0])[np.asarray(mask[i]) > 0])) for i in range(3)}
    orders = set()
    for i in range(50):
        row = np.asarray(batch.x[i, :, 0])[np.asarray(batch.mask[i]) > 0]
        orders.add(tuple(row))
        assert tuple(sorted(row)) in known
    assert len(orders) > len(known)
    assert_array_equal(batch.y, 10 * batch.x)
    assert np.all(np.asarray(batch.mask - batch.context).sum(1) >= 1)


def test_bad_settings_are_refused():
    process = data.regression1d("paper", "se").process
    with pytest.raises(ValueError, match=r"low < high, got 2.0 and -2.0"):
        data.ProcessGenerator(process, low=2.0, high=-2.0)
    with pytest.raises(ValueError, match=r"batch_size.*got 0"):
        data.ProcessGenerator(process, batch_size=0)
    with pytest.raises(ValueError, match=r"0 <= share <= 1, got 1.5"):
        data.ContextSampler(share=1.5)
    with pytest.raises(ValueError, match="expected full functions neither packed nor with few"):
        data.ProcessGenerator(process, full=True, packed=True)


def test_full_functions_have_all_points(getkey):
    contexts = data.ContextSampler(share=1.0)
    generator = data.regression1d("paper", "sawtooth").generator(64, contexts=contexts, full=True)
    batch = eqx.filter_jit(generator.draw)(getkey())
    assert np.all(np.asarray(batch.mask) == 1)
    counts = np.asarray(batch.context).sum(1)
    assert counts.min() < 10 < 60 < counts.max() < 110


def _numbered(b=6, n=9):
    """Functions whose values say where they are; odd ones are shorter."""
    x = jr.uniform(jr.key(0), (b, n, 1))
    mask = jnp.ones((b, n)).at[1::2, 5:].set(0.0)
    return Batch(x, 3 * x, mask, jnp.zeros((b, n)))


def test_thinned_functions_have_any_number_of_points(getkey):
    generator = data.ResampledGenerator(functions=_numbered(), batch_size=2000, thinned_share=0.5)
    batch = eqx.filter_jit(generator.draw)(getkey())
    counts = np.asarray(jnp.sum(batch.mask, axis=1)).astype(int)
    shares = np.bincount(counts, minlength=10) / len(counts)
    expected = np.array([0] + [0.25 * (1 / 9 + 1 / 5)] * 5 + [0.25 / 9] * 4)
    expected[[5, 9]] += 0.25
    assert np.all(np.abs(shares - expected) < 5 * np.sqrt(expected / len(counts)) + 1e-12)
    assert_array_equal(batch.y, 3 * batch.x)


def test_at_most_so_many_points(getkey):
    generator = data.ResampledGenerator(functions=_numbered(), batch_size=400, max_points=6)
    batch = eqx.filter_jit(generator.draw)(getkey())
    assert batch.x.shape == (400, 6, 1) and batch.mask.shape == (400, 6)
    assert set(np.asarray(jnp.sum(batch.mask, axis=1)).tolist()) == {5.0, 6.0}
    assert len(np.unique(np.asarray(batch.x[..., 0])[batch.mask > 0])) == 3 * 9 + 3 * 5


def test_contexts_ahead_come_first(getkey):
    generator = data.ResampledGenerator(
        functions=_numbered(), batch_size=400, forecast_share=0.5, thinned_share=0.5
    )
    batch = eqx.filter_jit(generator.draw)(getkey())
    first = np.asarray(jnp.max(jnp.where(batch.context > 0, batch.x[..., 0], -1.0), axis=1))
    target = (batch.mask > 0) & (batch.context == 0)
    rest = np.asarray(jnp.min(jnp.where(target, batch.x[..., 0], 2.0), axis=1))
    asked = np.asarray(jnp.sum(batch.context, axis=1)) > 2
    assert 0.4 < np.mean(first[asked] < rest[asked]) < 0.75
    assert np.all(np.asarray(batch.x[batch.mask > 0]) > 0)
    assert_array_equal(batch.y, 3 * batch.x)


def test_shared_places(getkey):
    functions = _numbered()
    generator = data.FixedInputsGenerator(x=functions.x[0], y=functions.y, batch_size=5)
    batch = eqx.filter_jit(generator.draw)(getkey())
    assert generator.batching.common_inputs and generator.conditional
    assert_array_equal(batch.x, np.broadcast_to(functions.x[0], (5, 9, 1)))
    rows = {tuple(row) for row in np.asarray(functions.y[..., 0])}
    assert {tuple(row) for row in np.asarray(batch.y[..., 0])} <= rows
    assert np.all(np.sum(batch.context, axis=1) < 9)


def test_noise_goes_with_its_value(getkey):
    key = getkey()
    plain = resampled_set(key)
    functions = plain.functions._replace(noise=plain.functions.y[:, :, 0])
    noisy = dataclasses.replace(plain, functions=functions)
    same, batch = plain.draw(key), noisy.draw(key)
    for got, expected in zip(batch[:4], same[:4], strict=True):
        assert_array_equal(got, expected)
    assert_array_equal(batch.noise, batch.y[:, :, 0])
    assert same.noise is None


def resampled_set(key):
    x = jr.uniform(key, (5, 7, 1))
    mask = (jnp.arange(7)[None] < jnp.asarray([7, 6, 3, 7, 5])[:, None]).astype(x.dtype)
    functions = Batch(x, 2 * x, mask, jnp.zeros_like(mask))
    options = {"thinned_share": 0.5, "forecast_share": 0.5}
    return data.ResampledGenerator(functions=functions, batch_size=16, **options)
