"""The flow's log-densities against those of the Gaussian process that made the data."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp import kernels, noising, score, solve
from geomndp.gp import GP
from geomndp.likelihood import Flow, Hutchinson

from ..cases import compilations, unchecked
from .helper import (
    CONVERGED,
    DATA,
    EPS,
    SE,
    TO_THE_GP,
    White,
    batch,
    batch_values,
    draw,
    gaussian,
    ou,
    per_point,
    sample,
    truth,
    value,
)

__all__ = ["unchecked"]


def test_a_hundred_evaluations_reach_the_prior_gap():
    x, y = draw(DATA["se"], key=jr.key(1))
    result = batch(Flow(), ou(), gaussian(), x, y)
    converged = batch_values(CONVERGED, ou(), gaussian(), x, y)
    assert np.all(result.evaluations == 96) and np.all(result.probe_error == 0)
    assert per_point(result.value, converged) < 3e-4
    # The prior is not quite reached at t = 1.
    assert 2e-4 < per_point(converged, truth(DATA["se"], x, y)) < 2.5e-3


@pytest.mark.parametrize(
    ("data", "limit"),
    [
        ("se", "white"),
        pytest.param("matern", "white", marks=pytest.mark.slow),
        ("matern", "se-0.1"),
        ("weakly-periodic", "periodic"),
    ],
)
def test_exact_end_law_reaches_the_gp(data, limit):
    x, y = draw(DATA[data], key=jr.key(2))
    values = batch_values(TO_THE_GP, ou(limit), gaussian(data), x, y)
    assert per_point(values, truth(DATA[data], x, y)) < 1e-4


def test_single_precision():
    x, y = draw(DATA["se"], key=jr.key(3))
    double = batch(Flow(), ou(), gaussian(), x, y).value
    single = batch_values(Flow(), ou(), gaussian(), x.astype(jnp.float32), y.astype(jnp.float32))
    assert single.dtype == jnp.float32
    assert per_point(single.astype(jnp.float64), double) < 5e-4


def test_vector_fields():
    gp = GP(kernels.CurlFree(1.0), noise=0.02)
    law = noising.OrnsteinUhlenbeck(
        kernels.Diagonal(White(), 2), noising.LinearSchedule(1e-4, 15.0)
    )
    x = jr.normal(jr.key(4), (7, 2))
    y = sample(gp, x, key=jr.key(5))
    result = value(TO_THE_GP, solve.ConditionalDynamics(law, score.GaussianScore(gp), x), y)
    assert_allclose(result, truth(gp, x, y), atol=2e-3)


def test_means_of_data_and_limit():
    gp = GP(SE(0.5), mean=lambda x: 1.0 + x, noise=0.01)
    law = noising.OrnsteinUhlenbeck(White(0.7), noising.CosineSchedule(), mean=lambda x: 0.3 * x)
    x = jnp.linspace(-1.0, 1.0, 7)[:, None]
    y = sample(gp, x, key=jr.key(6))
    result = value(TO_THE_GP, solve.ConditionalDynamics(law, score.GaussianScore(gp), x), y)
    # The cosine schedule noises at once: its beta is linear in t too, with B(t_min) = 1e-6.
    assert_allclose(result, truth(gp, x, y), atol=2e-3)


def test_repeated_inputs():
    x = jnp.full((6, 1), 0.3)
    y = sample(DATA["se"], x, key=jr.key(7))
    result = value(TO_THE_GP, solve.ConditionalDynamics(ou(), gaussian(), x), y)
    assert_allclose(result, truth(DATA["se"], x, y), atol=3e-3)


def test_padding_changes_nothing(getkey):
    (x,), (y,) = draw(DATA["se"], 1, 8, key=getkey())
    mask = jnp.array([1.0] * 8 + [0.0] * 3)
    padding = jnp.full((3, 1), jnp.nan)
    x_padded, y_padded = jnp.concatenate([x, padding]), jnp.concatenate([y, padding])
    plain = value(Flow(), solve.ConditionalDynamics(ou("se-1"), gaussian(), x), y)
    padded = value(
        Flow(), solve.ConditionalDynamics(ou("se-1"), gaussian(), x_padded, mask), y_padded
    )
    assert_allclose(padded, plain, rtol=1e-9)


def test_value_and_gradient_are_those_of_the_gp():
    (x,), (y,) = draw(DATA["se"], 1, 8, key=jr.key(8))
    x, y = jnp.concatenate([x, x[:2]]), jnp.concatenate([y, jnp.full((2, 1), jnp.nan)])
    mask = jnp.array([1.0] * 8 + [0.0] * 2)
    dynamics = solve.ConditionalDynamics(ou(), gaussian(), x, mask)
    result, gradient = jax.value_and_grad(lambda y: value(TO_THE_GP, dynamics, y))(y)
    known, expected = jax.value_and_grad(lambda y: truth(DATA["se"], x[:8], y))(y[:8])
    assert_allclose(result, known, atol=1e-3)
    assert_allclose(gradient[:8], expected, rtol=1e-3, atol=1e-3 * np.max(np.abs(expected)))
    assert_allclose(gradient[8:], 0.0)


def test_probes_agree_with_the_exact_divergence():
    (x,), (y,) = draw(DATA["se"], 1, 8, key=jr.key(9))
    dynamics = solve.ConditionalDynamics(ou(), gaussian(), x)
    flow = Flow(divergence=Hutchinson(256))

    @jax.jit
    def estimate(key):
        return flow.log_prob(dynamics, y, EPS, key=key)

    result = estimate(jr.key(10))
    assert 0 < result.probe_error < 1
    assert abs(result.value - value(Flow(), dynamics, y)) < 4 * result.probe_error
    assert estimate(jr.key(10)) == result


def test_one_compilation_per_shape():
    (x,), (y,) = draw(DATA["se"], 1, 8, key=jr.key(11))
    value(Flow(), solve.ConditionalDynamics(ou(), gaussian(), x), y)
    again, shifted = solve.ConditionalDynamics(ou(), gaussian(), 2 * x), y + 1
    assert compilations(lambda: value(Flow(), again, shifted)) == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": 1}, "steps to be a whole number >= 2, got 1"),
        ({"steps": 2.5}, "steps to be a whole number >= 2, got 2.5"),
        ({"terminal": "end"}, "terminal to be one of 'prior', 'tweedie', 'exact', got 'end'"),
    ],
)
def test_bad_settings_are_refused(settings, message, unchecked):
    with pytest.raises(ValueError, match=message):
        Flow(**settings)


def test_bad_input_is_refused(unchecked):
    x, y = jnp.zeros((3, 1)), jnp.zeros((3, 1))
    dynamics = solve.ConditionalDynamics(ou(), gaussian(), x)
    with pytest.raises(ValueError, match="expected a key"):
        Flow(divergence=Hutchinson()).log_prob(dynamics, y, EPS)
    with pytest.raises(ValueError, match=r"expected 0 < t_min < 1, got 0\.0"):
        Flow().log_prob(dynamics, y, 0.0)
    with pytest.raises(ValueError, match=r"y of shape \(3, 1\), got shape \(2, 1\)"):
        Flow().log_prob(dynamics, y[:2], EPS)
    with pytest.raises(ValueError, match="NaN or infinity in rows 1"):
        Flow().log_prob(dynamics, y.at[1].set(jnp.nan), EPS)
    learnt = score.NetworkScore(lambda t, x, y, mask: y)
    with pytest.raises(ValueError, match=r"a score with a log_prob .* got NetworkScore"):
        Flow(terminal="exact").log_prob(solve.ConditionalDynamics(ou(), learnt, x), y, EPS)
