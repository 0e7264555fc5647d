"""Every sampler's code follows its propagated law: whitened samples are white."""

import jax
import jax.numpy as jnp
import jax.random as jr
import pytest

from geomndp import law

from .helper import FAMILIES, SAMPLERS, case, draw, sampler_law, shift, z_scores

SAMPLES = 2**12
NOISY = ("amortised", "moment-matching", "langevin-inner", "kinetic")
BLOCK = ("moment-matching", "langevin-inner", "kinetic")


def check(name: str, problem) -> None:
    sampler = SAMPLERS[name]
    sampler.check(problem)
    samples = draw(sampler, problem, SAMPLES, jr.key(3))
    assert samples.y.shape == (SAMPLES, len(problem.x), problem.noising.dim)
    assert samples.info.rms.shape == samples.info.times.shape == (sampler.steps,)
    final_rms = jnp.sqrt(jnp.mean(samples.y**2))
    assert jnp.allclose(samples.info.rms[-1], final_rms)
    white = law.whiten(sampler_law(sampler, problem), samples.y.reshape(SAMPLES, -1))
    for scores in z_scores(white):
        assert float(jnp.max(jnp.abs(scores))) < 4.5


@pytest.mark.parametrize("name", SAMPLERS)
def test_smooth_limit_mean_and_repeated_inputs(name):
    check(name, case("nugget", key=jr.key(0), repeats=True, mean=shift).problem)


@pytest.mark.parametrize("name", FAMILIES)
def test_vector_fields(name):
    check(name, case("fields-white", n=5, key=jr.key(1)).problem)


@pytest.mark.parametrize("name", NOISY)
def test_observation_noise(name):
    check(name, case("white", noise=0.1, key=jr.key(2)).problem)


@pytest.mark.parametrize("name", BLOCK)
def test_observation_noise_with_a_smooth_limit(name):
    check(name, case("fields", noise=0.1, n=4, key=jr.key(2)).problem)


@pytest.mark.parametrize("name", FAMILIES)
def test_no_observations(name):
    check(name, case("nugget", m=0, n=4, key=jr.key(4)).problem)


@pytest.mark.parametrize("name", FAMILIES)
def test_one_observation_one_target(name):
    check(name, case("nugget", m=1, n=1, key=jr.key(5)).problem)


def test_the_check_can_fail():
    problem = case("nugget", key=jr.key(0)).problem
    samples = draw(SAMPLERS["amortised"], problem, SAMPLES, jr.key(3)).y
    mean, covariance = sampler_law(SAMPLERS["amortised"], problem)
    white = law.whiten((mean, 1.1 * covariance), samples.reshape(SAMPLES, -1))
    assert float(jnp.max(jnp.abs(z_scores(white)[1]))) > 4.5
    assert jax.tree.all(jax.tree.map(lambda leaf: bool(jnp.all(jnp.isfinite(leaf))), mean))
