"""Models and posteriors answer the protocol of all processes, inside JAX's transformations too."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from geomndp.likelihood import Flow
from geomndp.model import likelihood_routes
from geomndp.predictive import AbstractPredictive, AbstractProcess
from geomndp.samplers import Amortised, MomentMatching, Observations, Problem
from geomndp.solve import Heun

FLOW, SAMPLER = Flow(Heun(), 2), Amortised(2)
MASK = jnp.asarray([1.0, 0.0, 1.0])


@pytest.fixture
def split(function):
    """Context of three rows, the second padding, and targets."""
    (x, y), junk = function, jnp.asarray([[50.0]])
    return jnp.stack([x[0], junk[0], x[1]]), jnp.stack([y[0], junk[0], y[1]]), x[2:5], y[2:5]


def test_a_model_is_a_process_and_its_own_prior(exact, function):
    x, y = function
    assert isinstance(exact, AbstractProcess) and isinstance(exact, AbstractPredictive)
    prior = exact.condition()
    assert isinstance(prior, AbstractPredictive) and len(prior.observations.x) == 0
    ask = {"key": jr.key(1), "num_samples": 2, "sampler": MomentMatching(4)}
    assert_array_equal(exact.sample(x, **ask), prior.sample(x, **ask))
    assert exact.log_prob(x, y) == prior.log_prob(x, y)
    empty = exact.condition(x[:0], y[:0])
    assert_array_equal(empty.sample(x, **ask), prior.sample(x, **ask))
    with pytest.raises(ValueError, match="expected x of the observations"):
        exact.condition(y=y)


def test_masked_observations_are_left_out(exact, split):
    xc, yc, x, y = split
    law, other = exact.condition(xc, yc, mask=MASK), exact.condition(xc[::2], yc[::2])
    assert len(law.observations.x) == 2
    assert law.log_prob(x, y) == other.log_prob(x, y)
    with pytest.raises(ValueError, match="expected mask of 3 observations, got 2"):
        exact.condition(xc, yc, mask=MASK[:2] * 0)


def test_traced_requests_are_those_of_a_hand_made_problem(learnt, split, noise=0.01):
    """So that a measurement needs no `Problem` of its own; a traced mask stays data."""
    xc, yc, x, y = split

    def ask(mask, key):
        law = learnt.condition(xc, yc, noise=noise, mask=mask)
        samples = law.sample(x, key=key, num_samples=2, sampler=SAMPLER)
        return samples, law.log_prob_info(x, y, key=key, flow=FLOW)

    def by_hand(mask, key):
        observed = Observations(xc, yc, jnp.full(3, noise), noise > 0, mask)
        problem = Problem(learnt.noising, learnt.score, x, observed, learnt.t_min)
        samples = SAMPLER.draw(problem, key=key, num_samples=2).y
        return samples, likelihood_routes.log_prob(FLOW, problem, y, None, key, "conditional")

    masks, keys = jnp.stack([MASK, jnp.ones(3)]), jr.split(jr.key(3), 2)
    many, first = jax.vmap(ask)(masks, keys), jax.jit(by_hand)(masks[0], keys[0])
    jax.tree.map(lambda a, b: assert_allclose(a[0], b, rtol=1e-5), many, first)


def test_traced_noise_counts_as_noise(learnt, split):
    xc, yc, x, y = split

    def value(noise):
        return learnt.condition(xc, yc, noise=noise).log_prob_info(x, y, flow=FLOW).value

    assert_allclose(jax.jit(value)(0.01), value(0.01), rtol=1e-4)


def test_moments_are_those_of_samples(exact, gp, function):
    x, y = function
    mean, std = exact.condition(x[:3], y[:3]).mean_and_std(x[3:5], key=0)
    expected = gp.condition(x[:3], y[:3]).mean_and_std(x[3:5])
    for found, right in zip((mean, std), expected, strict=True):
        assert_allclose(found, right, atol=5 * float(np.max(expected[1])) / np.sqrt(256))
    with pytest.raises(ValueError, match="expected a key"):
        exact.mean_and_std(x)


def test_draws_and_densities_are_those_of_earlier_releases(exact):
    """The same numbers for the same keys and sampler, of the prior and of a posterior."""
    options = {"key": 3, "num_samples": 3, "sampler": Amortised(50, start_terms=0)}
    x = np.array([-1.0, -0.3, 0.2, 0.9, 1.4])
    y, law = np.sin(x), exact.condition(x[:2], np.sin(x[:2]))
    prior = exact.sample(x, **options)[0, :, 0]
    expected = [0.22484323423657648, 0.6297045594096528, -0.9325464095834142]
    assert_allclose(prior[:3], expected, rtol=1e-7)
    posterior = law.sample(x[2:], **options)[0, :, 0]
    expected = [0.15149958077199252, 0.5961774946955403, -0.5811611558147234]
    assert_allclose(posterior, expected, rtol=1e-7)
    assert_allclose(exact.log_prob(x, y), -4.801929745972138, rtol=1e-7)
    assert_allclose(law.log_prob(x[2:], y[2:], jr.key(2)), -3.036677119137698, rtol=1e-7)
