"""Paired log-likelihoods: with the exact score the regret vanishes, padding changes nothing."""

import jax.numpy as jnp
import pytest
from numpy.testing import assert_allclose

from geomndp import Model
from geomndp.data import tasks
from geomndp.data.synthetic import Gaussian
from geomndp.evaluate import exact_log_prob, model_log_prob
from geomndp.gp import GP
from geomndp.kernels import SquaredExponential, White
from geomndp.likelihood import Flow
from geomndp.noising import LinearSchedule, OrnsteinUhlenbeck
from geomndp.score import GaussianScore

GAUSSIAN = Gaussian(GP(SquaredExponential(0.5), noise=0.01))
MODEL = Model(
    OrnsteinUhlenbeck(White(GAUSSIAN.variance), LinearSchedule(0.0, 15.0)),
    GaussianScore(GAUSSIAN.gp),
)


@pytest.mark.parametrize("route", ["conditional", "joint"])
def test_exact_score_has_no_regret(route):
    batch = tasks(GAUSSIAN, num=6, contexts=(0, 4), targets=5)
    flow = Flow(steps=24, terminal="exact" if route == "joint" else "prior")
    result = model_log_prob(MODEL, batch, flow, contexts=4, route=route, batch_size=4)
    exact = exact_log_prob(GAUSSIAN.gp, batch, contexts=4)
    assert_allclose(result.value, exact, atol=4e-3)
    assert jnp.all(result.solver_error < 1e-3)


def test_padding_of_the_context_changes_nothing():
    batch = tasks(GAUSSIAN, num=2, contexts=(1, 3), targets=4)
    garbage = batch._replace(y=jnp.where(batch.mask[:, :, None] > 0, batch.y, 99.0))
    first, second = (
        model_log_prob(MODEL, b, Flow(), contexts=3, batch_size=2).value for b in (batch, garbage)
    )
    assert_allclose(first, second, atol=1e-10)
    one = int(jnp.sum(batch.context[0]))
    x, y = batch.x[0], batch.y[0]
    alone = MODEL.condition(x[:one], y[:one]).log_prob(x[3:], y[3:]) / 4
    assert_allclose(first[0], alone, atol=1e-10)
