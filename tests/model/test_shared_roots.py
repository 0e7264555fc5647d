"""Roots of limiting Gram matrices are found once, where samples start, not in every stretch."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

import geomndp as gn
from geomndp import _progress
from geomndp.model import sampling
from geomndp.model.sampling import draw

SMOOTH = gn.kernels.SquaredExponential(1.0) + gn.kernels.White(0.05)
LIMITS = {"smooth": SMOOTH, "white": gn.kernels.White()}
SAMPLERS = {"amortised": gn.samplers.Amortised(3), "langevin": gn.samplers.Langevin(3, 2)}
FACTORISATIONS = ("syevd", "potrf")  # eigenvalues and Cholesky factors, as LAPACK names them


class Shrinking(gn.score.AbstractScore):
    """A score that factorises nothing."""

    conditional = True
    pads = True

    def __call__(self, noising, t, x, y, mask=None):
        return -jnp.reshape(noising.sigma(t), (-1, 1)) * y


def posterior(limit: str):
    schedule = gn.noising.LinearSchedule(0.0, 10.0)
    model = gn.Model(gn.noising.OrnsteinUhlenbeck(LIMITS[limit], schedule), Shrinking())
    return model.condition(np.asarray([[0.1], [0.4]]), np.asarray([[1.0], [-1.0]]))


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("name", SAMPLERS)
def test_stretches_factorise_nothing_and_draw_the_same(name, limit, monkeypatch):
    law, sampler, x = posterior(limit), SAMPLERS[name], np.linspace(-1, 1, 5)[:, None]
    expected = draw(sampler, law.problem(jnp.asarray(x)), jr.key(1), 2)
    made, found = {}, sampling.program

    def noted(fn, *args):
        made[fn] = found(fn, *args)
        return made[fn]

    monkeypatch.setattr(sampling, "program", noted)
    monkeypatch.setattr(_progress, "STRETCH_SECONDS", 0.0)
    samples = law.sample_info(x, key=jr.key(1), num_samples=2, sampler=sampler)
    assert_allclose(samples.y, expected.y, rtol=1e-6, atol=1e-8)
    assert_allclose(samples.info.evaluations, expected.info.evaluations)
    texts = {fn: program._compiled.as_text() for fn, program in made.items()}
    start, move = texts[sampling.start_samples], texts[sampling.move_samples]
    assert ("syevd" in start) == (limit == "smooth")
    assert not any(name in move for name in FACTORISATIONS)
