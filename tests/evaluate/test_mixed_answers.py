"""Mixtures of laws: weights, densities and proper scores against closed forms and quadrature."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.stats import norm

from geomndp.evaluate.mixed_answers import densities, mixture_crps, mixture_log_weights
from geomndp.evaluate.value_metrics import NUM_LEVELS

LOCATION, SCALE, WEIGHTS = np.array([-0.5, 1.0]), np.array([0.4, 1.5]), np.array([0.3, 0.7])
Y = np.array([-2.0, 0.1, 3.0])[None, :, None]  # one task, three values
LEVELS = (np.arange(NUM_LEVELS) + 0.5) / NUM_LEVELS


def mixture_of_normals():
    """CRPS by quadrature of the squared difference of distribution functions."""
    grid = np.linspace(-12, 14, 40001)
    cdf = WEIGHTS @ norm.cdf(grid, LOCATION[:, None], SCALE[:, None])
    return np.array([np.trapezoid((cdf - (grid >= y)) ** 2, grid) for y in Y.ravel()])


def ensemble(values, drawn):
    """An answer of a member: the same values (s,) at all three targets."""
    whole = np.broadcast_to(np.asarray(values)[None, :, None, None], (1, len(values), 3, 1))
    return {"ensemble": whole, "drawn": np.array([float(drawn)])}


def test_crps_of_quantiles():
    members = [
        ensemble(norm.ppf(LEVELS, m, s), False) for m, s in zip(LOCATION, SCALE, strict=True)
    ]
    found = mixture_crps(WEIGHTS[:, None, None, None], members, Y)
    assert_allclose(found.ravel(), mixture_of_normals(), rtol=2e-3)


def test_crps_of_few_draws_is_unbiased():
    """Four draws of the one member, quantiles of the other; the mean over many ensembles."""
    rng, results = np.random.default_rng(0), []
    quantiles = ensemble(norm.ppf(LEVELS, LOCATION[1], SCALE[1]), False)
    for _ in range(1000):
        draws = ensemble(rng.normal(LOCATION[0], SCALE[0], 4), True)
        results.append(mixture_crps(WEIGHTS[:, None, None, None], [draws, quantiles], Y).ravel())
    error = np.std(results, axis=0) / np.sqrt(len(results))
    assert np.all(np.abs(np.mean(results, axis=0) - mixture_of_normals()) < 4 * error + 2e-3)


def test_weights_follow_the_contexts_and_stay_where_none_has_a_density():
    answers = [
        {"joint": np.zeros(3), "evidence": np.array([-1.0, -np.inf, -np.inf])},
        {"joint": np.zeros(3), "evidence": np.array([-3.0, -5.0, np.nan])},
    ]
    found = np.exp(mixture_log_weights(np.log(WEIGHTS), answers))
    expected = WEIGHTS * np.exp([-1.0, -3.0])
    assert_allclose(found[:, 0], expected / expected.sum())
    assert_allclose(found[:, 1], [0.0, 1.0])
    assert_allclose(found[:, 2], WEIGHTS)


def test_errors_of_weights_count_where_targets_disagree_with_the_context():
    def answers(joint):
        return [
            {
                "joint": np.array([value]),
                "joint_error": np.zeros(1),
                "evidence_error": np.full(1, 0.2),
                "marginal": np.zeros((1, 1, 1)),
            }
            for value in joint
        ]

    weights, real = np.log(np.full((2, 1), 0.5)), np.ones((1, 1, 1))
    agree, disagree = (densities(weights, answers(j), real) for j in ((0.0, 0.0), (0.0, -50.0)))
    assert agree["joint_error"] == 0
    assert_allclose(disagree["joint_error"], np.hypot(0.1, 0.1))
    assert_allclose(disagree["joint"], np.log(0.5))
