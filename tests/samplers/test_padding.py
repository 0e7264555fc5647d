"""Padding and splitting change nothing but rounding, for every sampler."""

import dataclasses

import jax.numpy as jnp
import jax.random as jr
import pytest
from numpy.testing import assert_allclose

from geomndp import samplers
from geomndp.samplers import pad_problem, sample_keys

from ..spheres import EPS, NOISING, between, oracle
from .helper import SAMPLERS, case, hurried

SMC = samplers.TwistedSMC(4, 4)
FLAT = {**SAMPLERS, "adaptive": samplers.AdaptiveFlow(), "smc": SMC}
FLAT["langevin-final"] = samplers.Langevin(2, 2, num_final_steps=3)
NOISY = ("amortised", "adaptive", "moment-matching", "moment-matching-cg", "langevin-inner")
NOISY = (*NOISY, "kinetic", "smc")
SPHERE = {
    "amortised": samplers.Amortised(4),
    "adaptive": samplers.AdaptiveFlow(),
    "moment-matching": samplers.MomentMatching(4),
    "langevin": samplers.Langevin(3, 2),
    "repaint": samplers.RePaint(3, 2),
}


def some(names, *fast: str) -> list:
    """All names, those that are not `fast` marked slow."""
    slow = pytest.mark.slow
    return [pytest.param(name, marks=() if name in fast else slow) for name in names]


def check(sampler, problem, contexts=5, targets=7) -> None:
    """Same samples and sizes of a problem and of its padded version."""

    def both(plain, padded):
        return [sampler.draw(one, key=jr.key(3), num_samples=2) for one in (plain, padded)]

    padded = pad_problem(problem, contexts, targets)
    assert padded.mask is not None and len(padded.x) == targets
    sampler.check(padded)
    expected, found = hurried(both, problem, padded)
    n = len(problem.x)
    assert_allclose(found.y[:, :n], expected.y, rtol=1e-5, atol=1e-6)
    assert_allclose(found.info.rms, expected.info.rms, rtol=1e-5)


@pytest.mark.parametrize("name", some(FLAT, "repaint", "smc"))
def test_padding_with_a_smooth_limit(name):
    check(FLAT[name], case("nugget", m=3, n=4, key=jr.key(0)).problem)


@pytest.mark.parametrize("name", some(NOISY, "moment-matching"))
def test_padding_with_noise(name):
    limit = "fields-white" if name in ("amortised", "adaptive") else "fields"
    check(FLAT[name], case(limit, m=3, n=3, noise=0.1, key=jr.key(1)).problem)


@pytest.mark.parametrize("name", some(["amortised", "moment-matching", "repaint"]))
def test_padding_without_observations(name):
    check(FLAT[name], case("white", m=0, n=3, key=jr.key(2)).problem, contexts=0)


@pytest.mark.parametrize("noise", [0.0, pytest.param(0.2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", some(SPHERE, "amortised"))
def test_padding_on_the_sphere(name, noise):
    if noise and name == "repaint":
        pytest.skip("RePaint holds values exactly")
    xc, x = jnp.asarray([[-1.0], [0.4]]), jnp.asarray([[-0.5], [0.0], [1.0]])
    observations = samplers.Observations(xc, between(xc), jnp.full(2, noise), noise > 0)
    problem = samplers.Problem(NOISING, oracle((0.5, 0.4, 0.6)), x, observations, EPS)
    check(SPHERE[name], problem, contexts=3, targets=4)


@pytest.mark.parametrize("name", some(("amortised", "kinetic", "smc"), "amortised"))
def test_a_sample_depends_on_its_number_alone(name):
    problem = case("white", m=2, n=2, key=jr.key(4)).problem

    def draws(problem):
        draw = FLAT[name].draw
        return [draw(problem, key=jr.key(5), num_samples=num).y for num in (2, 5)]

    few, many = hurried(draws, problem)
    assert_allclose(many[:2], few, rtol=1e-6, atol=1e-8)
    assert float(jnp.min(jnp.std(many, axis=0))) > 0


def test_keys_of_a_stretch_are_those_of_the_whole():
    key = jr.key(6)
    whole, part = sample_keys(key, 7), sample_keys(key, 3, 4)
    assert bool(jnp.all(jr.key_data(whole[4:]) == jr.key_data(part)))


def test_the_check_can_fail():
    """A mask that is dropped is noticed."""

    class Forgetful(samplers.Amortised):
        def program(self, problem):
            observations = dataclasses.replace(problem.observations, mask=None)
            return super().program(dataclasses.replace(problem, observations=observations))

    with pytest.raises(AssertionError):
        check(Forgetful(6), case("nugget", m=3, n=4, key=jr.key(0)).problem)
