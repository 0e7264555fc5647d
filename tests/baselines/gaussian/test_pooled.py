"""Pooled processes: known ones are found again, whatever is missing."""

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp._types import Batch
from geomndp.baselines import Candidate, fit_climatology, fit_gp, refit
from geomndp.baselines.gaussian.held_out import moments
from geomndp.gp import GP
from geomndp.kernels import Coregionalised, Modulated, PeriodicInputs, SquaredExponential as SE

from .helper import draw, nats

ONE = (Candidate("SE"),)
CONSTANT = (Candidate("SE", "constant"),)


def test_hyperparameters_are_found_again():
    truth = GP(SE(0.3), lambda x: 0 * x + 2.0, noise=0.02)
    fit = fit_gp(draw(truth, 80), candidates=CONSTANT)
    assert_allclose(fit.process.noise, 0.02, rtol=0.25)
    x = jnp.asarray([[0.0], [0.3]])
    covariance = fit.process.kernel.cross(x, x)
    assert_allclose(covariance, SE(0.3).cross(x, x), atol=0.25)
    assert_allclose(fit.process.mean_at(x), 2.0, atol=0.15)
    fresh = draw(truth, 60, seed=7)
    assert nats(truth, fresh) - nats(fit.process, fresh) < 0.02


def test_a_sum_is_no_less_likely_than_its_first_kernel():
    """Wiggles far shorter than the span, with little noise: nested models, whatever the start."""
    x = np.linspace(0, 2, 60)[:, None]
    mean, covariance = moments(GP(SE(0.06), noise=1e-3), x)
    y = np.random.default_rng(0).multivariate_normal(mean, covariance, 8)[..., None]
    mask = np.ones(y.shape[:2])
    batch = Batch(np.broadcast_to(x, y.shape), y, mask, np.zeros_like(mask))
    forms = [Candidate(name) for name in ("SE", "M52", "SE+M32", "M52+M12")]
    values = [value for _, value in fit_gp(batch, candidates=tuple(forms)).candidates]
    assert values[2] > values[0] - 2e-3 and values[3] > values[1] - 2e-3


def test_held_out_nats_are_those_of_the_process():
    batch = draw(GP(SE(0.3), noise=0.02), 80)
    held = np.arange(60, 80)
    fit = fit_gp(batch, validation=held, candidates=(*ONE, *CONSTANT, Candidate("M12")))
    assert_allclose(fit.nats, nats(fit.process, batch, held), rtol=1e-6)
    assert fit.nats == max(value for _, value in fit.candidates)
    assert next(name for name, _ in fit.candidates) == "SE, empirical mean"
    again = refit(fit, batch)
    assert again.name == fit.name
    assert nats(again.process, batch) >= nats(fit.process, batch) - 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("amplitude", ["varying", "signal"])
def test_amplitude_that_varies(amplitude):
    truth = GP(Modulated(SE(0.4), lambda x: jnp.exp(1.5 * x)), noise=1e-4)
    batch, fresh = draw(truth, 80, common=True), draw(truth, 40, seed=3, common=True)
    fit = fit_gp(batch, candidates=(Candidate("SE", "empirical", amplitude),))
    plain = fit_gp(batch, candidates=ONE)
    assert nats(fit.process, fresh) > nats(plain.process, fresh) + 0.1
    assert nats(truth, fresh) - nats(fit.process, fresh) < 0.35


def test_outputs_that_are_missing_do_not_count():
    matrix = ((1.0, 0.7), (0.7, 1.0))
    truth = GP(Coregionalised(SE(0.4), matrix), noise=(0.01, 0.04))
    batch = draw(truth, 24)
    mask = np.random.default_rng(0).uniform(size=(24, 8, 2)) > 0.4
    gappy = Batch(batch.x, np.where(mask, batch.y, 1e3), mask.astype(float), mask.astype(float))
    fit = fit_gp(gappy, candidates=CONSTANT)
    assert_allclose(fit.process.noise, (0.01, 0.04), rtol=0.7)
    assert nats(truth, batch) - nats(fit.process, batch) < 0.1
    other = gappy._replace(y=np.where(mask, batch.y, -5.0))
    assert fit_gp(other, candidates=CONSTANT).nats == fit.nats


@pytest.mark.slow
def test_periodic_inputs():
    truth = GP(PeriodicInputs(SE(0.15), (1.0,)), noise=0.01)
    batch = draw(truth, 80)
    fit = fit_gp(batch, candidates=CONSTANT, period=(1.0,))
    x = jnp.asarray([[0.1], [0.6]])
    assert_allclose(fit.process.kernel.cross(x, x + 3.0), fit.process.kernel.cross(x, x), rtol=1e-8)
    assert nats(truth, batch) - nats(fit.process, batch) < 0.05


def test_climatology_knows_means_and_variances_alone():
    scale = np.asarray([0.5, 1.0, 2.0, 1.5])
    rng = np.random.default_rng(0)
    y = 3.0 + scale[None, :, None] * rng.normal(size=(400, 4, 1))
    x = np.broadcast_to(np.arange(4.0)[None, :, None], y.shape)
    batch = Batch(x, y, np.ones((400, 4)), np.zeros((400, 4)))
    fit = fit_climatology(batch)
    points, values = jnp.asarray(x[0]), jnp.asarray(y[0])
    mean, std = fit.process.condition(points[:2], values[:2]).mean_and_std(points)
    assert_allclose(mean[:, 0], y.mean(axis=(0, 2)), atol=1e-3)
    assert_allclose(std[:, 0], scale, rtol=0.15)
    assert_allclose(fit.nats, nats(fit.process, batch), rtol=1e-6)


def test_seconds_bound_the_candidates_and_wrong_arguments():
    batch = draw(GP(SE(0.3), noise=0.02), 80)
    assert len(fit_gp(batch, seconds=0.0, max_iterations=2).candidates) == 1
    with pytest.raises(ValueError, match="expected at least one candidate"):
        fit_gp(batch, candidates=())
    with pytest.raises(ValueError, match="expected mean to be one of"):
        fit_gp(batch, candidates=(Candidate("SE", "zero"),))
    with pytest.raises(ValueError, match="expected finite y, got NaN or infinity in function 0"):
        fit_gp(batch._replace(y=np.full_like(batch.y, np.nan)))
    with pytest.raises(ValueError, match="expected functions with values, got none"):
        fit_gp(batch._replace(mask=np.zeros_like(batch.mask)))


@pytest.mark.slow
@pytest.mark.parametrize("case", ["one function", "two functions", "a constant output"])
def test_little_data_gives_a_process(case):
    batch = draw(GP(SE(0.3), noise=0.02), 80)
    if case == "a constant output":
        batch = batch._replace(y=np.concatenate([batch.y, np.ones_like(batch.y)], axis=-1))
    else:
        rows = slice(0, 1 if case == "one function" else 2)
        batch = batch._replace(x=batch.x[rows], y=batch.y[rows], mask=batch.mask[rows])
    fit = fit_gp(batch, candidates=(Candidate("SE"), Candidate("SE", amplitude="signal")))
    assert np.isfinite(fit.nats)
    x, y = jnp.asarray(batch.x[0]), jnp.asarray(batch.y[0])
    assert np.isfinite(fit.process.condition(x[:3], y[:3]).log_prob(x[3:], y[3:]))
