"""The denoising loss: times, masks, contexts, and its optimum, the exact score."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from geomndp import data, kernels, nets, noising, score, train
from geomndp._types import Batch
from geomndp.score.parametrisations import noise_coefficients

from ..cases import perturbed
from .helper import NOISING, tiny_score

SCHEDULE = noising.LinearSchedule(0.0, 10.0)


@eqx.filter_jit
def value(loss, learner, batch, key):
    """Loss and its parts, as one program."""
    return loss(learner, NOISING, batch, key=key)


def test_points_of_a_function_share_its_time_but_for_the_context(getkey):
    batch = jax.jit(data.regression1d("paper", "sawtooth").generator(32).draw)(getkey())
    t, point_t = train.DenoisingLoss().draw_times(NOISING, batch, key=getkey())
    target = np.asarray(batch.context) == 0
    assert_array_equal(
        np.asarray(point_t)[target], np.broadcast_to(t[:, None], target.shape)[target]
    )
    own = np.asarray(point_t)[~target]
    assert own.max() <= 1 + 1e-12
    assert (own != np.broadcast_to(t[:, None], target.shape)[~target]).all()


def mixed_batch(key, num=6, n=5):
    keys = jr.split(key, 2)
    x, y = jr.uniform(keys[0], (num, n, 1)), jr.normal(keys[1], (num, n, 1))
    points = jnp.asarray([1, 2, 3, 4, 5, 5])
    mask = (jnp.arange(n)[None] < points[:, None]).astype(x.dtype)
    context = (jnp.arange(n)[None] < (points[:, None] - 1) // 2).astype(x.dtype)
    return Batch(x, y, mask, context)


def test_garbage_in_masked_slots_changes_nothing(getkey):
    batch, key, learner = mixed_batch(getkey()), getkey(), tiny_score()
    gap = batch.mask[:, :, None] == 0

    @jax.jit
    def value_and_gradient(batch):
        loss = lambda learner: train.DenoisingLoss()(learner, NOISING, batch, key=key)[0]  # noqa: E731
        return eqx.filter_value_and_grad(loss)(learner)

    junk = batch._replace(x=jnp.where(gap, jnp.nan, batch.x), y=jnp.where(gap, jnp.inf, batch.y))
    for clean, dirty in zip(
        jax.tree.leaves(value_and_gradient(batch)),
        jax.tree.leaves(value_and_gradient(junk)),
        strict=True,
    ):
        assert_array_equal(clean, dirty)


def test_loss_is_the_mean_over_targets_then_functions(getkey):
    """With a network that says zero, the velocity residual is minus its own target."""
    batch, key = mixed_batch(getkey()), getkey()
    learner = eqx.tree_at(
        lambda s: s.net.mlp.layers[-1],
        tiny_score(),
        replace_fn=lambda w: jax.tree.map(jnp.zeros_like, w),
    )
    loss, info = value(train.DenoisingLoss(), learner, batch, key)
    by_point, _ = value(train.DenoisingLoss(reduction="point"), learner, batch, key)
    time_key, noise_key = jr.split(key)
    _, point_t = train.DenoisingLoss().draw_times(NOISING, batch, key=time_key)
    means, squares, number = [], 0.0, 0
    for i, k in enumerate(jr.split(noise_key, 6)):
        noised = NOISING.perturb(point_t[i], batch.x[i], batch.y[i], key=k, mask=batch.mask[i])
        a, sigma = NOISING.alpha(point_t[i])[:, None], NOISING.sigma(point_t[i])[:, None]
        square = np.asarray(a * noised.xi - sigma * batch.y[i])[:, 0] ** 2
        chosen = np.asarray(batch.mask[i] * (1 - batch.context[i])) > 0
        means.append(square[chosen].mean())
        squares, number = squares + square[chosen].sum(), number + chosen.sum()
    assert_allclose(info.losses, means, rtol=1e-12)
    assert_allclose(loss, np.mean(means), rtol=1e-12)
    assert_allclose(by_point, squares / number, rtol=1e-12)


def test_a_batch_without_targets_has_no_loss(getkey):
    batch = mixed_batch(getkey())
    batch = batch._replace(context=batch.mask)
    for reduction in ("function", "point"):
        loss = train.DenoisingLoss(reduction=reduction)
        assert value(loss, tiny_score(), batch, getkey())[0] == 0.0


def test_weight_multiplies_by_time(getkey):
    batch, key = mixed_batch(getkey()), getkey()
    plain, info = value(train.DenoisingLoss(), tiny_score(), batch, key)
    squared = train.DenoisingLoss(weight=lambda noising, t: noising.alpha(t) ** 2)
    weighted, _ = value(squared, tiny_score(), batch, key)
    expected = jnp.mean(info.losses * NOISING.alpha(info.times) ** 2)
    assert_allclose(weighted, expected, rtol=1e-12)
    assert weighted < plain


class ExactNet(eqx.Module):
    """The exact score in a parametrisation's own output, times a factor to learn."""

    factor: jax.Array
    exact: score.GaussianScore
    noising: noising.OrnsteinUhlenbeck
    parametrisation: score.AbstractParametrisation

    def __call__(self, t, x, y, mask):
        at = noise_coefficients(self.noising, t, x, mask)
        y = at.mean + at.scale * y
        u = self.exact(self.noising, t, x, y, mask)
        return self.factor * jax.lax.stop_gradient(self.parametrisation.from_u(at, y, u))


@pytest.mark.parametrize(
    ("parametrisation", "kernel", "share"),
    [
        (score.Velocity(), kernels.White(1.0025), 1.0),
        (score.PredictData(), kernels.Matern52(0.3), 0.5),
        (score.PreconditionK(), kernels.White(1.0025), 0.0),
    ],
    ids=repr,
)
def test_gradient_vanishes_at_the_exact_score(parametrisation, kernel, share):
    """Joint functions, and (where a clean point has an output) conditional ones."""
    process = data.regression1d("paper", "se").process
    limit = noising.OrnsteinUhlenbeck(kernel, SCHEDULE)
    generator = data.ProcessGenerator(
        process, batch_size=64, max_points=8, contexts=data.ContextSampler(share, few_share=0.0)
    )
    exact = score.GaussianScore(process.gp)
    loss = train.DenoisingLoss(t_min=1e-2)

    def one(key):
        data_key, loss_key = jr.split(key)
        batch = generator.draw(data_key)

        def value(factor):
            net = ExactNet(factor, exact, limit, parametrisation)
            learner = score.NetworkScore(net, parametrisation)
            return loss(learner, limit, batch, key=loss_key)[0]

        first = jax.grad(value)(jnp.ones(()))
        return first, jax.grad(value)(jnp.asarray(1.2))

    at_one, beyond = jax.jit(lambda keys: jax.lax.map(one, keys))(jr.split(jr.key(3), 60))
    error = np.std(at_one) / np.sqrt(60)
    assert abs(np.mean(at_one)) < 4 * error
    # The test can tell: a factor 1.2 is far outside.
    assert np.mean(beyond) > 8 * error


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match=r"0 < t_min < 1, got 0\.0"):
        train.DenoisingLoss(t_min=0.0)
    with pytest.raises(ValueError, match="'function', 'point', got 'batch'"):
        train.DenoisingLoss(reduction="batch")


TWO_OUTPUTS = noising.OrnsteinUhlenbeck(kernels.Diagonal(kernels.White(), 2), SCHEDULE)


def two_outputs(key, num=6, n=5):
    """Functions of two outputs, half of whose values are missing."""
    keys = jr.split(key, 4)
    x, y = jr.uniform(keys[0], (num, n, 1)), jr.normal(keys[1], (num, n, 2))
    mask = jr.bernoulli(keys[2], 0.5, y.shape).astype(x.dtype).at[:, 0].set(1.0)
    context = mask * jr.bernoulli(keys[3], 0.3, y.shape).astype(x.dtype)
    return Batch(x, y, mask, context.at[:, 0, 0].set(0.0))


def two_groups(key):
    net = nets.RelativeAttention(
        1, 2, width=8, num_layers=1, num_heads=2, num_groups=2, dtype="float64", key=key
    )
    return score.NetworkScore(perturbed(net, 0.3, key=key), conditional=True)


def test_missing_outputs_enter_neither_network_nor_loss(getkey):
    batch, key, learner = two_outputs(getkey()), getkey(), two_groups(getkey())

    @jax.jit
    def value_and_gradient(y):
        def loss(learner):
            return train.DenoisingLoss()(learner, TWO_OUTPUTS, batch._replace(y=y), key=key)[0]

        return eqx.filter_value_and_grad(loss)(learner)

    expected = value_and_gradient(batch.y)
    for wild in (1e3, jnp.nan):
        got = value_and_gradient(jnp.where(batch.mask == 0, wild, batch.y))
        for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(expected), strict=True):
            assert_array_equal(a, b)


def test_groups_that_are_observed_together_are_a_point(getkey):
    batch, learner, key = two_outputs(getkey()), two_groups(getkey()), getkey()
    rows, t = batch.mask[:, :, 0], jr.uniform(getkey(), batch.mask.shape[:2])
    both = [jnp.stack([v, v], axis=2) for v in (rows, t)]
    plain = train.loss.squared_errors(
        learner, TWO_OUTPUTS, t, batch._replace(mask=rows, context=0 * rows), key=key
    )
    grouped = train.loss.squared_errors(
        learner, TWO_OUTPUTS, both[1], batch._replace(mask=both[0], context=0 * both[0]), key=key
    )
    assert_allclose(jnp.mean(grouped, axis=2) * rows, plain * rows, rtol=1e-10)
