"""Steps over explicit state: averages, keys, dtypes, one compilation."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from geomndp import data, score, train
from geomndp._types import Batch
from geomndp.train.step import divisor

from ..cases import compilations
from .helper import NOISING, TinyGenerator, parameters, tiny_score


def begin(optimiser=None, dtype=None, **options):
    """The run of `tiny_run`, so that its compiled step serves here too."""
    optimiser = train.adam(40) if optimiser is None else optimiser
    learner, generator = tiny_score(dtype=dtype), TinyGenerator(dtype=dtype)
    options = {"key": jr.key(1), **options}
    return train.init(learner, NOISING, generator, train.DenoisingLoss(), optimiser, **options)


@pytest.mark.parametrize("dtype", ["float32", None])
def test_many_steps_compile_one_program_and_follow_the_dtype(dtype):
    trainer, state = begin(dtype=dtype)
    state, seen = train.train_steps(trainer, state, 5)
    assert state.params.dtype == state.ema_params.dtype == seen.loss.dtype == (dtype or "float64")
    assert seen.loss.shape == seen.gradient_norm.shape == seen.time.shape == (5,)

    def more():
        nonlocal state
        for _ in range(3):
            state, _ = train.train_steps(trainer, state, 5)
        return state

    assert compilations(more) == 0
    assert int(state.step) == 20
    # A new run with the same settings needs no new program either.
    trainer, state = begin(dtype=dtype, key=jr.key(2))
    assert compilations(lambda: train.train_steps(trainer, state, 5)) == 0


def test_steps_do_not_depend_on_how_they_are_grouped():
    trainer, state = begin()
    _, all_at_once = train.train_steps(trainer, state, 15)
    trainer, state = begin()
    parts = []
    for _ in range(3):
        state, seen = train.train_steps(trainer, state, 5)
        parts.append(seen.loss)
    assert_allclose(jnp.concatenate(parts), all_at_once.loss, rtol=1e-9)


def test_what_was_given_is_not_used_up():
    """Buffers are donated, but neither the caller's parameters nor the key."""
    learner, key = tiny_score(), jr.key(7)
    before = [np.array(leaf) for leaf in parameters(learner)]
    trainer, state = train.init(
        learner, NOISING, TinyGenerator(), train.DenoisingLoss(), train.adam(40), key=key
    )
    train.train_steps(trainer, state, 5)
    for leaf, old in zip(parameters(learner), before, strict=True):
        assert_array_equal(leaf, old)
    assert jr.key_data(key).shape == (2,)
    assert state.params.is_deleted()


def test_a_step_descends_the_loss_and_averages():
    """With weights d^0, d^1, ... for the last parameters, the one before, and so on."""
    d = 0.8
    trainer, state = begin(optimiser=optax.sgd(0.1), ema_decay=d)
    params, key = jnp.array(state.params, copy=True), jr.key(1)
    batch, loss_key = jax.jit(trainer.draw)(jnp.zeros((), jnp.int32), key)

    def loss(params):
        return trainer.loss(trainer.score(params), NOISING, batch, key=loss_key)[0]

    value, gradient = jax.jit(jax.value_and_grad(loss))(params)
    state, seen = train.train_steps(trainer, state, 1)
    assert_allclose(seen.loss[0], value, rtol=1e-12)
    assert_allclose(seen.gradient_norm[0], jnp.linalg.norm(gradient), rtol=1e-10)
    assert_allclose(state.params, params - 0.1 * gradient, rtol=1e-10, atol=1e-12)
    visited = [np.array(state.params)]
    for _ in range(4):
        state, _ = train.train_steps(trainer, state, 1)
        visited.append(np.array(state.params))
    weights = d ** np.arange(4, -1, -1)
    expected = np.tensordot(weights / weights.sum(), np.stack(visited), 1)
    assert_allclose(state.ema_params, expected, rtol=1e-10)


def test_rates_rise_and_fall():
    rates = []
    optimiser = train.adam(300, clip=1e9)
    state, update = optimiser.init(jnp.zeros(())), jax.jit(optimiser.update)
    for _ in range(300):
        with jax.numpy_dtype_promotion("standard"):
            step, state = update(jnp.ones(()), state, jnp.zeros(()))
        rates.append(-float(step))
    assert_allclose(rates[0], 1e-4, rtol=1e-3)
    assert np.argmax(rates) == 10
    assert_allclose(rates[10], 1e-3, rtol=1e-3)
    assert_allclose(rates[155], (1e-3 + 1e-5) / 2, rtol=1e-2)
    assert_allclose(rates[-1], 1e-5, rtol=0.05)


def test_one_function_is_learnt_by_heart():
    """The score of a single function: the loss falls far below its start."""
    x = jnp.linspace(-1, 1, 6)[None, :, None]
    function = Batch(x, jnp.sin(3 * x), jnp.ones((1, 6)), jnp.zeros((1, 6)))
    generator = data.ResampledGenerator(function, batch_size=32, contexts=None)
    learner = tiny_score(width=32)
    loss = train.DenoisingLoss(t_min=0.05)
    optimiser = train.adam(1500, peak=1e-2)
    trainer, state = train.init(learner, NOISING, generator, loss, optimiser, key=jr.key(3))
    state, seen = train.train_steps(trainer, state, 1500)
    losses = np.asarray(seen.loss)
    assert losses[-100:].mean() < 0.02 * losses[:10].mean()


@pytest.mark.parametrize(("number", "most", "expected"), [(100, 10, 10), (45, 10, 9), (7, 5, 1)])
def test_divisor(number, most, expected):
    assert divisor(number, most) == expected


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match=r"0 <= ema_decay < 1, got 1\.0"):
        begin(ema_decay=1.0)
    with pytest.raises(ValueError, match="warmup"):
        train.adam(10, warmup=1.0)
    with pytest.raises(ValueError, match="steps"):
        train.adam(0)
    with pytest.raises(ValueError, match="a score with parameters"):
        empty = score.NetworkScore(eqx.nn.Lambda(lambda *args: args[2]))
        train.init(
            empty, NOISING, TinyGenerator(), train.DenoisingLoss(), train.adam(1), key=jr.key(0)
        )
    with pytest.raises(ValueError, match="divisible by 3 devices, got 8"):
        train.batch_mesh(8, devices=[None] * 3)
