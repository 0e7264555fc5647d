"""Held-out log-densities and the choice of heavier tails."""

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose

from geomndp.baselines.gaussian.functions import Curve
from geomndp.baselines.gaussian.held_out import (
    choose_dof,
    held_out_nats,
    log_density,
    moments,
    process_dof,
)
from geomndp.gp import GP
from geomndp.kernels import SquaredExponential as SE

X = np.linspace(-1, 1, 8)[:, None]
PROCESS = GP(SE(0.4), lambda x: 1.0 + x, noise=0.05)


def functions(dof: float | None, num: int = 60) -> list[Curve]:
    """Draws of the process, with a random scale each."""
    rng = np.random.default_rng(4)
    mean, covariance = moments(PROCESS, X)
    draws = rng.normal(size=(num, 8)) @ np.linalg.cholesky(covariance).T
    if dof is not None:
        draws *= np.sqrt((dof - 2) / rng.chisquare(dof, size=(num, 1)))
    return [Curve(X, (mean + draw)[:, None]) for draw in draws]


@pytest.mark.parametrize("dof", [None, 5.0])
def test_density_is_that_of_scipy(dof):
    _, covariance = moments(PROCESS, X)
    factor = np.linalg.cholesky(covariance)
    z = np.random.default_rng(0).normal(size=8)
    found = log_density(
        np.sum(np.linalg.solve(factor, z) ** 2), np.log(np.diag(factor)).sum(), 8, dof
    )
    law = (
        scipy.stats.multivariate_normal(np.zeros(8), covariance)
        if dof is None
        else scipy.stats.multivariate_t(np.zeros(8), covariance * (dof - 2) / dof, dof)
    )
    assert_allclose(found, law.logpdf(z), rtol=1e-10)


def test_nats_are_those_of_the_conditioned_process():
    curve = functions(None, 1)[0]
    found = held_out_nats(X, curve.y, moments(PROCESS, X), rng=np.random.default_rng(7))[None]
    order = np.random.default_rng(7).permutation(np.arange(8))
    forecast = np.arange(8)
    mean, covariance = moments(PROCESS, X)
    z, expected = curve.y[:, 0] - mean, []
    for rows, count in ((order, 3), (order, 4), (forecast, 3)):
        logs = [
            scipy.stats.multivariate_normal(
                np.zeros(k), covariance[np.ix_(rows[:k], rows[:k])]
            ).logpdf(z[rows[:k]])
            for k in (count, 8)
        ]
        expected.append((logs[1] - logs[0]) / (8 - count))
    assert_allclose(found, np.mean(expected), rtol=1e-6)


def test_heavy_tails_are_found_and_normal_ones_left():
    assert process_dof(PROCESS, functions(4.0), seed=0) in (3.5, 5.0, 8.0)
    assert process_dof(PROCESS, functions(None), seed=0) in (None, 60.0)


def test_a_law_without_variance_ends_no_fit():
    """Constant functions: what rounding leaves of their covariance has no density, or some."""
    x, values = np.linspace(0, 1, 12)[:, None], np.zeros((12, 1))
    nothing = (np.zeros(12), np.zeros((12, 12)))
    found = held_out_nats(x, values, nothing, rng=np.random.default_rng(0))
    assert np.isfinite(list(found.values())).all()
    broken = (np.zeros(12), np.full((12, 12), np.nan))
    found = held_out_nats(x, values, broken, rng=np.random.default_rng(0))
    assert set(found.values()) == {-np.inf}
    assert choose_dof({dof: np.full(3, nats) for dof, nats in found.items()}) is None
