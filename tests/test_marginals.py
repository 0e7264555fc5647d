"""Marginal laws: closed forms against integrals and samples, mixtures against their definition."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.gp import GP
from geomndp.kernels import Diagonal, SquaredExponential
from geomndp.marginals import MixtureMarginals, NormalMarginals, SampleMarginals

SHAPE = (3, 2)


def normal(key) -> NormalMarginals:
    keys = jr.split(key)
    return NormalMarginals(jr.normal(keys[0], SHAPE), 0.5 + jr.uniform(keys[1], SHAPE))


def mixture(key) -> MixtureMarginals:
    keys = jr.split(key)
    return MixtureMarginals((normal(keys[0]), normal(keys[1])), jnp.log(jnp.asarray([0.3, 0.7])))


LAWS = {"normal": normal, "mixture": mixture}
each = pytest.mark.parametrize("make", LAWS.values(), ids=LAWS)


@each
def test_moments_and_probabilities_are_integrals_of_the_density(make, getkey):
    law = make(getkey())
    grid = jnp.linspace(-12.0, 12.0, 6001)
    values = jnp.broadcast_to(grid[:, None, None], (6001, *SHAPE))
    density = np.exp(jax.vmap(law.log_prob)(values))
    grid, values = np.asarray(grid), np.asarray(values)
    mean = np.trapezoid(density * values, grid, axis=0)
    assert_allclose(np.trapezoid(density, grid, axis=0), 1.0, rtol=1e-8)
    assert_allclose(law.mean(), mean, atol=1e-8)
    assert_allclose(
        law.std() ** 2, np.trapezoid(density * (values - mean[None]) ** 2, grid, axis=0)
    )
    half = np.trapezoid(density[:3001], grid[:3001], axis=0)
    # The trapezoidal rule errs by step^2 / 12 times the slope there, at most 0.25 / std^2.
    assert_allclose(law.cdf(jnp.asarray(values[3000])), half, atol=2e-6)


@each
def test_quantiles_invert_the_cdf(make, getkey):
    law, q = make(getkey()), jnp.asarray([[0.01, 0.5], [0.9, 0.999]])
    values = law.quantile(q)
    assert values.shape == (2, 2, *SHAPE)
    found = jax.vmap(jax.vmap(law.cdf))(values)
    assert_allclose(found, jnp.broadcast_to(q[:, :, None, None], found.shape), rtol=1e-10)
    assert_allclose(law.quantile(0.9), values[1, 0], rtol=1e-10)
    assert np.all(np.asarray(law.quantile([0.0, 1.0])) == np.reshape([-np.inf, np.inf], (2, 1, 1)))


def test_derivatives_of_a_mixtures_quantiles_are_those_of_the_root(getkey):
    law = mixture(getkey())

    def moved(shift):  # of one member
        first = NormalMarginals(law.members[0].location + shift, law.members[0].scale)
        return MixtureMarginals((first, law.members[1]), law.log_weights).quantile(0.3)[0, 0]

    numeric = (moved(1e-5) - moved(-1e-5)) / 2e-5
    assert_allclose(jax.grad(moved)(0.0), numeric, rtol=1e-6)


def test_weights_of_float32_do_not_move_large_values():
    location, scale = jnp.full((1, 1), 1e8), jnp.full((1, 1), 0.01)
    log_weights = jax.nn.log_softmax(jnp.asarray([0.1, 0.5, 2.0], jnp.float32))
    law = MixtureMarginals((NormalMarginals(location, scale),) * 3, log_weights)
    assert_allclose(law.mean(), 1e8, rtol=1e-14)
    assert_allclose(law.std(), 0.01, rtol=1e-6)


def test_one_sample_has_no_spread():
    samples = SampleMarginals(jnp.zeros((1, *SHAPE)))
    with pytest.raises(ValueError, match="at least 2 samples for a standard deviation, got 1"):
        samples.std()


def test_samples_stand_for_a_law(getkey):
    law = normal(getkey())
    noise = jr.normal(jr.key(0), (20_000, *SHAPE))
    samples = SampleMarginals(law.location[None] + law.scale[None] * noise)
    assert_allclose(samples.mean(), law.mean(), atol=0.05)
    assert_allclose(samples.std(), law.std(), rtol=0.05)
    assert_allclose(samples.quantile([[0.1], [0.5]]), law.quantile([[0.1], [0.5]]), atol=0.08)
    y = law.quantile(0.3)
    assert_allclose(samples.cdf(y), 0.3, atol=0.02)
    assert np.all(np.asarray(samples.cdf(y - 100)) > 0)
    assert law.exact and not samples.exact
    with pytest.raises(ValueError, match="closed form for marginal densities, got samples"):
        samples.log_prob(y)


def test_shortcuts_of_a_predictive(getkey):
    gp = GP(Diagonal(SquaredExponential(0.5), 2), noise=0.1)
    x, y = jr.uniform(getkey(), (4, 1)), jr.normal(getkey(), (4, 2))
    law, targets = gp.condition(x, y), jr.uniform(getkey(), (5, 1))
    mean, std = law.mean_and_std(targets)
    assert law.exact_marginals
    assert_allclose(law.mean(targets), mean)
    assert_allclose(law.std(targets), std)
    low, high = law.quantile([0.05, 0.95], targets)
    assert_allclose(high - mean, 1.6448536269514722 * std, atol=1e-9)
    assert_allclose(low - mean, -1.6448536269514722 * std, atol=1e-9)
    row = law.log_prob(targets[:1], mean[:1])
    assert_allclose(jnp.sum(law.marginals(targets[:1]).log_prob(mean[:1])), row)
    with pytest.raises(ValueError, match=r"expected probabilities 0 <= q <= 1, got 1\.5"):
        law.quantile(1.5, targets)
