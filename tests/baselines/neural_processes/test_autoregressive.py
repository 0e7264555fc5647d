"""Rolled out one target at a time, exact one-target laws give the exact joint law."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.baselines.neural_processes.autoregressive import Autoregressive
from geomndp.gp import GP
from geomndp.kernels import SquaredExponential as SE

from .checks import check_all, problem
from .toys import JointGP, MarginalGP

EXACT = GP(SE(0.5), noise=0.05)
PROCESS = Autoregressive(MarginalGP(EXACT), block=2)


@pytest.mark.parametrize("order", [pytest.param(None, marks=pytest.mark.slow), 3])
def test_density_is_that_of_the_gaussian_process_in_any_order(order):
    (xc, yc, one), (x, mask), y = problem(PROCESS, targets=7)
    key = None if order is None else jr.key(order)
    law = PROCESS.predict(xc, yc, one, x, mask, key=key)
    exact = EXACT.condition(xc, yc).log_prob(x, y)
    assert_allclose(law.log_prob(y), exact, rtol=1e-7)
    alone = MarginalGP(EXACT).predict(xc, yc, one, x, mask).log_prob(y)
    assert abs(alone - exact) > 0.1  # the targets depend on each other


def test_samples_have_the_covariance_of_the_gaussian_process():
    (xc, yc, one), (x, mask), _ = problem(PROCESS)
    law = PROCESS.predict(xc, yc, one, x, mask, key=jr.key(2))
    samples = law.sample(key=jr.key(1), num_samples=4000)[..., 0]
    mean, covariance = EXACT.condition(xc, yc).mean_and_covariance(x)
    std = np.sqrt(np.diag(covariance))
    assert np.all(np.abs(samples.mean(0) - mean[:, 0]) < 5 * std / np.sqrt(4000))
    got = np.cov(samples.T) / np.outer(std, std)
    assert_allclose(got, covariance / np.outer(std, std), atol=0.08)


def test_marginals_are_those_of_the_first_step():
    (xc, yc, _), (x, _), y = problem(PROCESS)
    law = PROCESS.condition(xc, yc)
    mean, std = EXACT.condition(xc, yc).mean_and_std(x)
    assert_allclose(law.mean(x), mean)
    assert_allclose(law.std(x), std)
    marginals = law.marginals(x).log_prob(y)[:, 0]
    assert_allclose(law.marginal_log_prob(x, y), marginals)


def test_it_counts_one_evaluation_per_target():
    (xc, yc, _), (x, _), y = problem(PROCESS, targets=5)
    assert PROCESS.condition(xc, yc).log_prob_info(x, y).evaluations == 5


@pytest.mark.parametrize(
    "process",
    [
        MarginalGP(EXACT),
        *(pytest.param(p, marks=pytest.mark.slow) for p in (PROCESS, JointGP(EXACT))),
    ],
)
def test_exact_processes_pass_all_checks(process):
    check_all(process)


def test_what_a_neural_process_cannot_take_is_refused():
    x, y = jnp.zeros((2, 1)), jnp.zeros((2, 1))
    with pytest.raises(ValueError, match="expected noise 0 for a neural process"):
        PROCESS.condition(x, y, noise=0.1)
    with pytest.raises(ValueError, match="expected points that have all outputs or none"):
        PROCESS.condition(x, y, mask=jnp.ones((2, 1)))
    with pytest.raises(ValueError, match=r"expected x of shape \(2, 1\)"):
        PROCESS.condition(jnp.zeros((2, 2)), y)
    with pytest.raises(ValueError, match="expected finite y"):
        PROCESS.condition(x, y.at[0].set(jnp.nan))


def test_a_context_of_padding_is_none():
    (xc, yc, one), (x, _), y = problem(PROCESS)
    law = PROCESS.condition(xc.at[:].set(jnp.nan), yc, mask=0 * one)
    assert_allclose(law.log_prob(x, y), EXACT.log_prob(x, y), rtol=1e-7)


class Latent(MarginalGP):
    """One that says it needs random numbers."""

    needs_key = True


def test_a_process_with_a_latent_variable_needs_a_key_and_is_not_rolled_out():
    (xc, yc, _), (x, _), y = problem(PROCESS)
    with pytest.raises(ValueError, match="expected a key for the latent variable of Latent"):
        Latent(EXACT).condition(xc, yc).log_prob(x, y)
    assert np.isfinite(Latent(EXACT).condition(xc, yc).log_prob(x, y, key=jr.key(0)))
    with pytest.raises(ValueError, match="expected a process without a latent variable"):
        Autoregressive(Latent(EXACT))
