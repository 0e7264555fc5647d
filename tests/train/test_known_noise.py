"""Training values with known noise: the exact score is the minimiser at all times, below it too."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from geomndp import data, kernels, noising, score, train
from geomndp._types import Batch
from geomndp.gp import GP
from geomndp.train import known_noise, known_noise_loss

from ..cases import matrix_of, quick, shift

NOISING = noising.OrnsteinUhlenbeck(kernels.White(1.3), noising.LinearSchedule(0.0, 10.0))
CLEAN = GP(kernels.SquaredExponential(0.6, 0.8))
EXACT = score.GaussianScore(CLEAN)
X = jnp.asarray([[-1.0], [-0.4], [0.1], [0.9]])
OWN = jnp.asarray([0.08, 0.2, 0.35, 0.15])  # times of the values
LATER = jnp.asarray([0.3, 0.3, 0.35, 0.7])  # one of them gets no further noise


def linear_map(function):
    """Matrix of a map on the values at X."""
    return np.asarray(matrix_of(function, len(X), 1))


def test_the_scaled_noise_has_the_mean_of_the_noise_since_time_zero():
    """E[xi' sigma_t / sigma_t|s | Y_t] = -u exactly, where there is further noise."""

    def noised(y, z):
        # The white noise of the draw is replaced by z: all maps are linear.
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(known_noise.jr, "normal", lambda *_: z)
            return known_noise.noise_further(
                NOISING, OWN, LATER, X, y, jnp.ones(len(X)), key=jr.key(0)
            )

    zero = jnp.zeros((len(X), 1))
    of_values = linear_map(lambda y: noised(y, zero).perturbed.y)
    of_noise = linear_map(lambda z: noised(zero, z).perturbed.y)
    scaled = linear_map(lambda z: noised(zero, z).perturbed.xi)
    start = np.asarray(EXACT.law(NOISING, OWN, X)[1].dense()).reshape(len(X), -1)
    covariance = of_values @ start @ of_values.T + of_noise @ of_noise.T
    assert_allclose(covariance, np.asarray(EXACT.law(NOISING, LATER, X)[1].dense()), atol=1e-12)
    mean = scaled @ of_noise.T @ np.linalg.inv(covariance)
    u = linear_map(lambda y: EXACT(NOISING, LATER, X, y))
    moved = np.asarray(LATER > OWN)
    assert_allclose(-mean[moved], u[moved], atol=1e-10)
    assert_allclose(mean[~moved], 0.0, atol=1e-12)


def test_noise_since_time_zero_adds_up(getkey):
    y = jr.normal(getkey(), (len(X), 1))
    model = dataclasses.replace(NOISING, mean=shift)
    noisier = known_noise.noise_further(model, OWN, LATER, X, y, None, key=getkey())
    added = model.transition(model.schedule.integral(LATER), X, noisier.y0, noisier.perturbed.xi)
    assert_allclose(added, noisier.perturbed.y, atol=1e-10)
    assert_allclose(noisier.weight[2], 0.0)
    assert_allclose(noisier.weight[3], 1 - _ratio(0.15) / _ratio(0.7) * _decay(), rtol=1e-9)


def _ratio(t):
    return float(-jnp.expm1(-NOISING.schedule.integral(jnp.asarray(t))))


def _decay():
    return float((NOISING.alpha(jnp.asarray(0.7)) / NOISING.alpha(jnp.asarray(0.15))) ** 2)


@pytest.mark.parametrize(("steps", "error"), [(2, 0.03), (6, 0.004)])
def test_the_exact_flow_carries_values_to_the_clean_law(steps, error):
    lowered = jnp.asarray([True, False, True, True])
    run = quick(lambda y: known_noise.lower(EXACT, NOISING, OWN, X, y, None, lowered, steps))
    carried = linear_map(run)
    start = np.asarray(EXACT.law(NOISING, OWN, X)[1].dense())
    end = np.asarray(EXACT.law(NOISING, jnp.where(lowered, 0.0, OWN), X)[1].dense())
    assert_allclose(carried @ start @ carried.T, end, atol=error * 0.8)


def test_functions_may_be_leaves_of_the_score():
    exact = score.GaussianScore(dataclasses.replace(CLEAN, mean=shift))
    start = shift(X)  # the mean stays the mean
    model = dataclasses.replace(NOISING, mean=shift)
    lowered = jnp.ones(len(X), bool)
    end = quick(lambda y: known_noise.lower(exact, model, OWN, X, y, None, lowered, 2))(start)
    assert_allclose(end, start, atol=1e-10)


def test_less_noisy_values():
    times, mask = jnp.asarray([0.3, 0.1, 0.2, 0.4, 0.0]), jnp.asarray([1.0, 1.0, 1.0, 1.0, 0.0])
    assert_array_equal(known_noise.less_noisy(times, mask), [False, True, True, False, False])
    assert not known_noise.less_noisy(times, jnp.zeros(5)).any()


class Sensors(data.AbstractGenerator):
    """A Gaussian process seen by sensors of different noise."""

    batch_size: int = eqx.field(default=64, static=True)
    contexts: data.ContextSampler | None = data.ContextSampler(few=2)
    fewest: int = eqx.field(default=4, static=True)
    points: int = eqx.field(default=4, static=True)

    def draw(self, key):
        x_key, y_key, level_key, noise_key, context_key = jr.split(key, 5)
        shape = (self.batch_size, self.points, 1)
        x = jr.uniform(x_key, shape, minval=-1.0, maxval=1.0)
        keys = jr.split(y_key, self.batch_size)
        clean = jax.vmap(lambda x, key: CLEAN.sample(x, key=key))(x, keys)
        noise = 0.05 * 20.0 ** jr.uniform(level_key, shape[:2])
        y = clean + jnp.sqrt(noise)[:, :, None] * jr.normal(noise_key, shape)
        count_key = jr.fold_in(context_key, 1)
        counts = jr.randint(count_key, shape[:1], self.fewest, self.points + 1, jnp.int32)
        masks = data.context_mask(counts, self.points, self.contexts, x.dtype, key=context_key)
        return Batch(x, y, *masks, noise)


class GaussianNet(eqx.Module):
    """A network that is the exact velocity of a process with two parameters."""

    log_lengthscale: jax.Array
    log_variance: jax.Array

    def __call__(self, t, x, y, mask):
        a, sigma = NOISING.alpha(t), NOISING.sigma(t)
        distance = (x - x.T) / jnp.exp(self.log_lengthscale)
        k = jnp.exp(self.log_variance - 0.5 * distance**2) / 1.3
        c = a[:, None] * k * a[None] + jnp.diag(sigma**2 + 1e-9)
        c = c * mask[:, None] * mask[None] + jnp.diag(1 - mask)
        u = -sigma[:, None] * jnp.linalg.solve(c, mask[:, None] * y)
        return -(u + sigma[:, None] * y) * mask[:, None] / a[:, None]


def test_the_exact_score_is_stationary(getkey):
    """Gradients in lengthscale and variance vanish at the truth, and at the truth only."""
    loss = dataclasses.replace(train.default_loss("real"), known_noise=train.KnownNoise(0.5, 3))

    @quick
    def gradient(offset, key):
        data_key, loss_key = jr.split(key)
        batch = Sensors(256).draw(data_key)
        net = GaussianNet(jnp.log(0.6) + offset, jnp.log(0.8) + offset)

        def value(net):
            return loss(score.NetworkScore(net), NOISING, batch, key=loss_key)[0]

        slopes = jax.grad(value)(net)
        return jnp.stack([slopes.log_lengthscale, slopes.log_variance])

    for offset in (0.0, 0.5):
        found = np.stack([gradient(offset, key) for key in jr.split(jr.key(3), 24)])
        deviations = np.abs(found.mean(axis=0)) / (found.std(axis=0) / np.sqrt(len(found)))
        assert (deviations.max() > 6) == (offset > 0), deviations


def test_times_and_masks(getkey):
    batch = Sensors(32).draw(getkey())
    own = known_noise.at_own_times(NOISING, batch)
    assert_allclose(jnp.expm1(NOISING.schedule.integral(own.times)), batch.noise / 1.3, rtol=1e-9)
    grid, zeros = noising.schedule.PowerTimeGrid(2.0), jnp.zeros(batch.mask.shape)
    options = train.KnownNoise(kept_share=0.5)
    arguments = (options, EXACT, NOISING, batch, zeros, grid, 5e-4)
    noisy = quick(known_noise_loss.prepare, static_argnums=(6,))(*arguments, key=getkey())
    assert (noisy.point_t >= noisy.values.times).all()
    seen = np.asarray(noisy.mask) > 0
    targets = seen & (np.asarray(batch.context) == 0)
    below = np.asarray(noisy.point_t) > np.asarray(noisy.t)[:, None] * (1 + 1e-12)
    assert not (np.asarray(noisy.counted)[~targets | below]).any()
    assert (np.asarray(noisy.counted).sum(axis=1) >= 1).mean() > 0.9
    lowered = np.zeros(32, bool)
    lowered[options.lowered_rows(32)] = True
    assert_array_equal(np.asarray(noisy.values.times == 0).any(axis=1), lowered)
    assert lowered.sum() == 16 and lowered[::2].sum() == 8


def test_context_points_that_were_carried_may_be_noisy_again(getkey):
    batch = Sensors(16, data.ContextSampler(share=1.0, few=3, few_share=1.0)).draw(getkey())
    options = train.KnownNoise(lowered_share=1.0, flow_steps=1, noisy_context_share=1.0)
    grid, zeros = noising.schedule.PowerTimeGrid(2.0), jnp.zeros(batch.mask.shape)
    arguments = (options, EXACT, NOISING, batch, zeros, grid, 5e-4)
    noisy = quick(known_noise_loss.prepare, static_argnums=(6,))(*arguments, key=getkey())
    own = known_noise.at_own_times(NOISING, batch).times
    carried = np.asarray((batch.context > 0) & (noisy.values.times == 0))
    assert carried.any()
    assert_allclose(np.asarray(noisy.point_t)[carried], np.asarray(own)[carried])


def test_refusals(getkey):
    batch = Sensors(2).draw(getkey())
    smooth = noising.OrnsteinUhlenbeck(kernels.SquaredExponential(1.0), NOISING.schedule)
    with pytest.raises(ValueError, match="white limiting kernel"):
        known_noise.at_own_times(smooth, batch)
    learner = score.NetworkScore(GaussianNet(0.0, 0.0), score.PreconditionRoot())
    with pytest.raises(ValueError, match="loss per point"):
        train.DenoisingLoss()(learner, NOISING, batch, key=getkey())
    with pytest.raises(ValueError, match="flow_steps"):
        train.KnownNoise(flow_steps=0)


@pytest.mark.slow
def test_the_clean_process_is_learnt_from_noisy_sensors():
    """Lengthscale and variance from 5 to 15 sensors with noise variances 0.05 to 1."""
    loss, optimiser = train.default_loss("real"), optax.adam(optax.cosine_decay_schedule(0.05, 300))
    net = GaussianNet(jnp.log(1.2), jnp.log(0.3))
    state = optimiser.init(net)

    @jax.jit
    def step(net, state, key):
        data_key, loss_key = jr.split(key)
        batch = Sensors(64, fewest=5, points=15).draw(data_key)

        def value(net):
            return loss(score.NetworkScore(net), NOISING, batch, key=loss_key)[0]

        slopes = jax.grad(value)(net)
        with jax.numpy_dtype_promotion("standard"):  # optax mixes whole numbers and floats
            updates, state = optimiser.update(slopes, state)
        return optax.apply_updates(net, updates), state

    for key in jr.split(jr.key(5), 300):
        net, state = step(net, state, key)
    lengthscale, variance = (float(jnp.exp(v)) for v in (net.log_lengthscale, net.log_variance))
    learnt = GP(kernels.SquaredExponential(lengthscale, variance))
    batch, targets = (
        Sensors(200, fewest=10, points=10).draw(jr.key(6)),
        jnp.linspace(-1.0, 1.0, 7)[:, None],
    )

    def compare(x, y, noise):
        laws = [gp.condition(x, y, noise=noise).mean_and_std(targets) for gp in (learnt, CLEAN)]
        (mean, std), (exact_mean, exact_std) = laws
        return (mean - exact_mean) / exact_std, std / exact_std

    errors, ratios = (np.asarray(v) for v in jax.vmap(compare)(batch.x, batch.y, batch.noise))
    assert np.sqrt(np.mean(errors**2)) < 0.1
    assert 0.95 < ratios.mean() < 1.05
    # The density at the diffusion time of variance 0.05, where it is identified.
    laws = [GP(gp.kernel, noise=0.05) for gp in (CLEAN, learnt)]
    y = jax.vmap(lambda x, key: laws[0].sample(x, key=key))(batch.x, jr.split(jr.key(7), 200))
    exact, ours = (np.asarray(jax.vmap(law.log_prob)(batch.x, y)) for law in laws)
    assert np.mean(exact - ours) / 10 < 0.02
