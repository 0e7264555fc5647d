"""Every sampler's code follows its propagated law: whitened samples are white."""

import jax.numpy as jnp
import jax.random as jr
import pytest

from geomndp import law

from ..cases import slow_but
from .helper import SAMPLERS, case, hurried, shift, z_scores

SAMPLES = 2**12
NOISY = ("amortised", "moment-matching", "langevin-inner", "kinetic")
BLOCK = ("moment-matching", "langevin-inner", "kinetic")


def whitened(sampler, problem, inflation=1.0):
    samples = sampler.draw(problem, key=jr.key(3), num_samples=SAMPLES)
    mean, covariance = law.sampler_law(sampler, problem)
    white = law.whiten((mean, inflation * covariance), samples.y.reshape(SAMPLES, -1))
    return samples, z_scores(white)


def check(name: str, problem) -> None:
    sampler = SAMPLERS[name]
    sampler.check(problem)
    samples, scores = hurried(whitened, sampler, problem)
    assert samples.y.shape == (SAMPLES, len(problem.x), problem.noising.dim)
    assert samples.info.rms.shape == samples.info.times.shape == (sampler.steps,)
    assert jnp.allclose(samples.info.rms[-1], jnp.sqrt(jnp.mean(samples.y**2)))
    for score in scores:
        assert float(jnp.max(jnp.abs(score))) < 4.5


# Others differ from one of these in its rule, its scheme or its linear solver alone.
FAST = ("amortised", "moment-matching", "kinetic", "repaint")


@pytest.mark.parametrize("name", slow_but(FAST, SAMPLERS))
def test_smooth_limit_mean_and_repeated_inputs(name):
    check(name, case("nugget", key=jr.key(0), repeats=True, mean=shift).problem)


@pytest.mark.slow
@pytest.mark.parametrize("name", BLOCK)
def test_vector_fields(name):
    check(name, case("fields-white", n=5, key=jr.key(1)).problem)


@pytest.mark.parametrize("name", slow_but(("amortised", "langevin-inner"), NOISY))
def test_observation_noise(name):
    check(name, case("white", noise=0.1, key=jr.key(2)).problem)


@pytest.mark.parametrize("name", slow_but(("moment-matching",), BLOCK))
def test_observation_noise_with_a_smooth_limit(name):
    check(name, case("fields", noise=0.1, n=4, key=jr.key(2)).problem)


@pytest.mark.parametrize(
    "name",
    slow_but(("amortised",), ["amortised", "moment-matching", "kinetic", "repaint"]),
)
def test_no_observations(name):
    check(name, case("nugget", m=0, n=4, key=jr.key(4)).problem)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["amortised", "langevin-inner", "repaint"])
def test_one_observation_one_target(name):
    check(name, case("nugget", m=1, n=1, key=jr.key(5)).problem)


def test_the_check_can_fail():
    problem = case("nugget", key=jr.key(0)).problem
    wrong = hurried(lambda s, p: whitened(s, p, 1.2)[1][1], SAMPLERS["amortised"], problem)
    assert float(jnp.max(jnp.abs(wrong))) > 4.5
