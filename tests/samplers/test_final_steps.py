"""Langevin steps at the last time: they are part of the law, of the cost, and forget the start."""

import dataclasses

import jax.numpy as jnp
import jax.random as jr
import pytest

from geomndp import law, samplers

from .helper import case, hurried
from .test_code_follows_law import whitened


def test_final_steps_follow_their_law_and_are_counted():
    problem = case("white", m=2, n=3, key=jr.key(0)).problem
    sampler = samplers.Langevin(3, 2, num_final_steps=5)
    assert sampler.program(problem).evaluations == 3 * (1 + 2) + 5
    _, scores = hurried(whitened, sampler, problem)
    assert max(float(jnp.max(jnp.abs(score))) for score in scores) < 4.5


@pytest.mark.slow  # the law and number of final steps are checked above
def test_final_steps_forget_what_came_before():
    """A long chain at the last time ends in the same law, wherever it set out from."""
    problem = dataclasses.replace(case("white", m=1, n=2, key=jr.key(1)).problem, t_min=0.3)
    settings = (samplers.Langevin(2, 0), samplers.Langevin(2, 0, num_final_steps=400))

    def distances():
        settled = law.sampler_law(samplers.Langevin(2, 9, num_final_steps=400), problem)
        return [law.gaussian_kl(settled, law.sampler_law(one, problem)) for one in settings]

    far, near = (float(kl) for kl in hurried(distances))
    assert near < 1e-6 and far > 0.01
