"""Integrated score error: for the score of another Gaussian process it is a difference of KLs."""

import importlib

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from geomndp import Model
from geomndp._types import Batch
from geomndp.data import ProcessGenerator, regression1d
from geomndp.data.synthetic import Gaussian
from geomndp.evaluate import score_error
from geomndp.experiments.regression1d.score_error import score_errors
from geomndp.gp import GP
from geomndp.kernels import SquaredExponential, White
from geomndp.law import gaussian_kl
from geomndp.noising import LinearSchedule, OrnsteinUhlenbeck
from geomndp.score import GaussianScore

TRUE = GaussianScore(GP(SquaredExponential(0.5), noise=0.01))
WRONG = GaussianScore(GP(SquaredExponential(0.6), noise=0.012))
LIMITS = {"white": White(1.3), "SE": SquaredExponential(0.4) + White(0.3)}
POINTS, CONTEXT = 6, 2


def functions(num: int) -> Batch:
    x_key, y_key = jr.split(jr.key(3))
    x = jr.uniform(x_key, (num, POINTS, 1), minval=-1.0, maxval=1.0)
    draw = jax.jit(jax.vmap(lambda x, key: TRUE.gp.sample(x, key=key)))
    y = draw(x, jr.split(y_key, num))
    mask = jnp.ones((num, POINTS)).at[:, -1].set(0.0)
    return Batch(x, y, mask, jnp.zeros_like(mask).at[:, :CONTEXT].set(1.0))


def kl(noising, x, t: float, kind: str):
    """KL of the noised laws of the real points; that of a clean context cancels later."""
    x = x[:-1]
    times = jnp.full(len(x), t).at[: CONTEXT if kind == "conditional" else 0].set(0.0)
    laws = [score.law(noising, times, x) for score in (TRUE, WRONG)]
    return gaussian_kl(*((mean.reshape(-1), gram.dense()) for mean, gram in laws))


@pytest.mark.parametrize(
    ("kind", "limit"),
    [
        ("joint", "white"),
        ("conditional", "SE"),
        pytest.param("conditional", "white", marks=pytest.mark.slow),
        pytest.param("joint", "SE", marks=pytest.mark.slow),
    ],
)
def test_gap_is_the_change_of_the_kl(kind, limit):
    noising = OrnsteinUhlenbeck(LIMITS[limit], LinearSchedule(0.0, 8.0))
    model, batch = Model(noising, WRONG, t_min=1e-3), functions(512)
    gap = score_error(model, TRUE, batch, key=jr.key(0), mode=kind, batches=8, cells=16)
    each = jax.jit(jax.vmap(lambda x, t: kl(noising, x, t, kind), in_axes=(0, None)))
    kls = [each(batch.x, t) for t in (1e-3, 1.0)]
    targets = POINTS - 1 - (CONTEXT if kind == "conditional" else 0)
    expected = jnp.mean(kls[0] - kls[1]) / targets
    assert gap.standard_error < 0.05 * expected
    assert abs(gap.value - expected) < 4 * gap.standard_error
    np.testing.assert_allclose(np.sum(gap.profile), gap.value)
    assert np.all(np.diff(gap.times) > 0) and 1e-3 < gap.times[0] < gap.times[-1] < 1


def test_exact_score_has_no_gap_and_streams_serve():
    noising = OrnsteinUhlenbeck(White(), LinearSchedule(0.0, 10.0))
    generator = ProcessGenerator(Gaussian(TRUE.gp), batch_size=32, max_points=5)
    options = {"key": jr.key(1), "mode": "conditional", "batches": 2, "cells": 4}
    assert score_error(Model(noising, TRUE), TRUE, generator, **options).value < 1e-20


@pytest.mark.parametrize("alike", [True, False])
def test_inputs_that_all_functions_share_are_used_once(alike, monkeypatch):
    module, batch = importlib.import_module("geomndp.evaluate.score_error"), functions(8)
    batch = batch._replace(x=jnp.tile(batch.x[:1], (8, 1, 1))) if alike else batch
    assert module._shared(batch) == alike
    model = Model(OrnsteinUhlenbeck(White(), LinearSchedule(0.0, 10.0)), WRONG)
    options = {"key": jr.key(0), "batches": 1, "cells": 2}
    found = score_error(model, TRUE, batch, **options)
    monkeypatch.setattr(module, "_shared", lambda _: False)
    apart = score_error(model, TRUE, batch, **options)
    np.testing.assert_allclose(found.profile, apart.profile, rtol=1e-9)


def test_refusals():
    problem = regression1d("paper", "sawtooth")
    model = Model(OrnsteinUhlenbeck(White(), LinearSchedule(0.0, 10.0)), TRUE)
    with pytest.raises(ValueError, match="expected Gaussian data, whose law is known"):
        score_errors(model, problem)
    with pytest.raises(ValueError, match="in each of 64 cells"):
        score_error(model, TRUE, functions(16), key=jr.key(0), batches=1, cells=64)
