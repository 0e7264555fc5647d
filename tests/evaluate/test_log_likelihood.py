"""Log-likelihoods: with the exact score the regret vanishes, padding changes nothing."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from geomndp import Model
from geomndp.data import Batch, tasks
from geomndp.data.synthetic import Gaussian
from geomndp.evaluate import log_likelihood
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


@pytest.mark.parametrize("route", ["conditional", pytest.param("joint", marks=pytest.mark.slow)])
def test_exact_score_has_no_regret(route):
    batch = tasks(GAUSSIAN, num=6, contexts=(0, 4), targets=5)
    flow = Flow(steps=24, terminal="exact" if route == "joint" else "prior")
    options = {"num_context": 4, "batch_size": 4}
    result = log_likelihood(MODEL, batch, flow=flow, route=route, **options)
    exact = log_likelihood(GAUSSIAN.gp, batch, **options)
    assert_allclose(result.value, exact.value, atol=2e-2)
    assert_allclose(result.per_target().value, result.value / 5)
    assert_array_equal(exact.num_targets, 5)
    assert_array_equal(exact.solver_error, 0)
    assert jnp.all(result.per_target().solver_error < 1e-3)


def test_padding_of_the_context_changes_nothing():
    batch = tasks(GAUSSIAN, num=2, contexts=(1, 3), targets=4)
    garbage = batch._replace(y=jnp.where(batch.mask[:, :, None] > 0, batch.y, 99.0))
    options = {"num_context": 3, "batch_size": 2, "flow": Flow(), "route": "conditional"}
    first, second = (log_likelihood(MODEL, b, **options).value for b in (batch, garbage))
    assert_allclose(first, second, atol=1e-10)
    one = int(jnp.sum(batch.context[0]))
    x, y = batch.x[0], batch.y[0]
    alone = MODEL.condition(x[:one], y[:one]).log_prob(x[3:], y[3:])
    assert_allclose(first[0], alone, atol=1e-10)


def test_inputs_of_more_digits_than_the_floats_of_jax_are_refused():
    batch = Batch(*map(np.asarray, tasks(GAUSSIAN, num=2, contexts=(2, 2), targets=4)[:4]))
    far = batch._replace(x=np.asarray(batch.x, np.float64) + 1e6)
    with jax.enable_x64(False), pytest.raises(ValueError, match="or set jax_enable_x64"):
        log_likelihood(GAUSSIAN.gp, far, num_context=2)


def test_context_first_and_context_in_place_agree():
    """The same functions, the context in the first rows or wherever it is marked."""
    batch = tasks(GAUSSIAN, num=3, contexts=(2, 2), targets=4)
    first = log_likelihood(GAUSSIAN.gp, batch, num_context=2)
    order = jnp.asarray([3, 0, 4, 5, 1, 2])
    moved = Batch(*(values[:, order] for values in batch[:4]))
    anywhere = log_likelihood(GAUSSIAN.gp, moved)
    assert_allclose(anywhere.value, first.value, rtol=1e-6)
    assert_array_equal(anywhere.num_targets, first.num_targets)
    with pytest.raises(ValueError, match="expected the context in the first 2 rows"):
        log_likelihood(GAUSSIAN.gp, moved, num_context=2)


def test_padded_targets_do_not_count():
    batch = tasks(GAUSSIAN, num=2, contexts=(2, 2), targets=4)
    fewer = batch._replace(mask=batch.mask.at[:, -1].set(0.0), y=batch.y.at[:, -1].set(99.0))
    found = log_likelihood(GAUSSIAN.gp, fewer, num_context=2)
    shorter = Batch(*(values[:, :-1] for values in batch[:4]))
    assert_allclose(found.value, log_likelihood(GAUSSIAN.gp, shorter, num_context=2).value)
    assert_array_equal(found.num_targets, 3)
