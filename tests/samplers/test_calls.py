"""Refusals in words, one compilation per shape, both precisions, keys."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import pytest
from numpy.testing import assert_allclose

from geomndp import law, samplers
from geomndp.score import AbstractScore

from ..cases import compilations, slow_but
from .helper import SAMPLERS, SHORT, case, hurried, noise_for, run_with


class JointScore(AbstractScore):
    """A score that knows equal times only."""

    score: AbstractScore
    conditional = False

    def __call__(self, noising, t, x, y, mask=None):
        return self.score(noising, t, x, y, mask)


@eqx.filter_jit
def draw(sampler, problem, num_samples, key):
    return sampler.draw(problem, key=key, num_samples=num_samples)


WRONG = {
    "steps": (lambda: samplers.Amortised(0), "steps to be a whole number >= 1, got 0"),
    "steps-mm": (lambda: samplers.MomentMatching(0), "steps to be a whole number >= 1"),
    "iterations": (lambda: samplers.MomentMatching(iterations=0), "iterations to be a whole"),
    "steps-langevin": (lambda: samplers.Langevin(0, 1), "steps to be a whole number >= 1"),
    "inner": (
        lambda: samplers.Langevin(1, -1),
        "num_corrector_steps to be a whole number >= 0, got -1",
    ),
    "inner-kinetic": (
        lambda: samplers.KineticLangevin(1, 0),
        "num_corrector_steps to be a whole number >= 1",
    ),
    "scheme": (lambda: samplers.Langevin(context="all"), "'inner', 'outer', 'path', 'none', got"),
    "psi": (lambda: samplers.Langevin(step_scale=0.0), "step_scale > 0, got 0.0"),
    "temperature": (lambda: samplers.Langevin(temperature=-1.0), "temperature > 0, got -1.0"),
    "stride": (lambda: samplers.KineticLangevin(stride=2.0), "stride < 2"),
    "friction": (lambda: samplers.KineticLangevin(friction=0.0), "friction > 0"),
    "repaint": (lambda: samplers.RePaint(10, 0), "num_resamplings to be a whole number >= 1"),
    "replacement": (lambda: samplers.Replacement(0), "steps to be a whole number >= 1"),
    "particles": (lambda: samplers.TwistedSMC(10, 1), "particles to be a whole number >= 2"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments(name):
    make, message = WRONG[name]
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("sampler", [samplers.RePaint(), samplers.Replacement()], ids=str)
def test_noise_is_refused_where_values_are_fixed(sampler):
    with pytest.raises(ValueError, match=r"without noise for Re(Paint|placement)"):
        sampler.check(case(noise=0.1, key=jr.key(0)).problem)


def test_amortised_needs_a_conditional_score():
    problem = case(key=jr.key(0)).problem
    joint = dataclasses.replace(problem, score=JointScore(problem.score))
    with pytest.raises(ValueError, match=r"trained with contexts.*use Langevin or MomentMatching"):
        samplers.Amortised().check(joint)
    samplers.MomentMatching().check(joint)
    nothing = case(m=0, key=jr.key(0)).problem
    samplers.Amortised().check(dataclasses.replace(nothing, score=JointScore(nothing.score)))


def test_amortised_takes_noise_with_a_white_limit_only():
    with pytest.raises(ValueError, match=r"white limiting kernel .* got Sum"):
        samplers.flow().check(case("nugget", noise=0.1, key=jr.key(0)).problem)
    with pytest.raises(ValueError, match="noise at most 147 times the limiting variance, got 200"):
        samplers.AdaptiveFlow().check(case(noise=200.0, key=jr.key(0)).problem)


def test_smc_has_limits():
    problem = case(m=300, n=1, key=jr.key(0)).problem
    with pytest.raises(ValueError, match=r"at most 256 observed coordinates .* got 300"):
        samplers.TwistedSMC().check(problem)
    for sampler in (samplers.TwistedSMC(), samplers.AdaptiveFlow()):
        with pytest.raises(ValueError, match=r"steps are affine, got (Twisted|Adapt)\w+"):
            law.sampler_law(sampler, case(key=jr.key(0)).problem)


@pytest.mark.parametrize("name", slow_but(("amortised",), ["amortised", "kinetic"]))
def test_one_compilation_per_shape_and_bits_by_key(name):
    sampler = SAMPLERS[name]
    problems = [case(n=4, key=jr.key(seed)).problem for seed in (0, 1)]
    keys = [jr.key(0), jr.key(1)]
    first = draw(sampler, problems[0], 5, keys[0])
    assert compilations(lambda: draw(sampler, problems[1], 5, keys[1])) == 0
    again = draw(sampler, problems[0], 5, keys[0])
    assert jax.tree.all(jax.tree.map(lambda a, b: bool((a == b).all()), first, again))
    assert float(jnp.std(first.y, axis=0).min()) > 0


@pytest.mark.parametrize("name", slow_but(("moment-matching",), SHORT))
def test_single_precision(name):
    """Same noise, rounded: the same samples but for rounding."""
    problem = case("nugget", key=jr.key(0)).problem
    arrays, rest = eqx.partition(problem, eqx.is_array)
    single = eqx.combine(jax.tree.map(lambda leaf: leaf.astype(jnp.float32), arrays), rest)

    def run(problem):
        program = SHORT[name].program(problem)
        noises = noise_for(program, key=jr.key(0))
        return run_with(program, jax.tree.map(lambda z: z.astype(problem.x.dtype), noises))

    found, expected = hurried(run, single), hurried(run, problem)
    assert found.dtype == jnp.float32
    assert_allclose(found, expected, atol=5e-3)
