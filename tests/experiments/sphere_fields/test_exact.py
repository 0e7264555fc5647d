"""Expected log-likelihoods on the sphere: against dense posteriors, and the published table."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.data import covariance, sphere_problem
from geomndp.experiments.sphere_fields.exact import expected_nats

# Exact and diagonal process, 600 Fibonacci points, 25 of them context points, nats per point.
TABLE = {
    ("hodge", 0.35): (-0.001, -2.42),
    ("curl-free", 0.35): (0.493, -1.96),
    ("div-free", 0.35): (0.494, -1.96),
    ("curl-free", 0.2): (-0.360, -2.62),
    ("div-free", 0.2): (-0.360, -2.62),
    ("hodge", 0.2): (-1.407, -2.77),
}


@pytest.mark.parametrize("name", ["hodge", "scalar"])
def test_against_the_dense_posterior(name):
    problem = sphere_problem(name, 0.5, points=12, contexts=4)
    found = expected_nats(problem, num_contexts=3, seed=5)
    k, random = covariance(problem.gp, problem.grid), np.random.default_rng(5)
    p, joint, diagonal = problem.gp.dim, [], []
    for _ in range(3):
        order = random.permutation(12)
        order = (p * order[:, None] + np.arange(p)).reshape(-1)
        precision = np.linalg.inv(k[np.ix_(order, order)])[4 * p :, 4 * p :]
        rest = np.linalg.inv(precision)
        joint.append(-0.5 * np.linalg.slogdet(2 * np.pi * np.e * rest)[1] / 8)
        diagonal.append(-0.5 * np.log(2 * np.pi * np.e * np.diag(rest)).sum() / 8)
    assert_allclose(found[:2], (np.mean(joint), np.mean(diagonal)), rtol=1e-9)
    assert_allclose(found.standard_error, np.std(joint, ddof=1) / 3**0.5, rtol=1e-6)


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=() if case[0] == "hodge" else pytest.mark.slow) for case in TABLE],
    ids=str,
)
def test_published_table(case):
    found = expected_nats(sphere_problem(*case), num_contexts=20 if case[0] == "hodge" else 200)
    assert_allclose(found.joint, TABLE[case][0], atol=0.0006 + 3 * found.standard_error)
    assert_allclose(found.diagonal, TABLE[case][1], atol=0.006)


def test_no_target():
    with pytest.raises(ValueError, match="expected points to be a whole number >= 6, got 5"):
        expected_nats(sphere_problem("scalar", points=5, contexts=5))
