"""Mixtures of laws: weights, densities and proper scores against closed forms and quadrature."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from geomndp.evaluate import crps
from geomndp.evaluate.mixed_answers import (
    densities,
    mixture_crps,
    mixture_log_weights,
    real_values,
)
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


def test_the_score_of_one_member_is_that_of_its_draws():
    draws = np.random.default_rng(0).normal(size=(7, 3, 1))
    answer = {"ensemble": draws[None], "drawn": np.ones(1)}
    found = mixture_crps(np.ones((1, 1, 1, 1)), [answer], Y)
    pairs = np.abs(draws[:, None] - draws[None]).sum(axis=(0, 1)) / (7 * 6)
    expected = np.abs(draws - Y).mean(axis=0) - pairs / 2
    assert_allclose(found[0], expected)
    assert_allclose(crps(draws, Y[0]), expected)


@pytest.mark.parametrize("far", [1e200, np.inf])
def test_one_draw_however_far_leaves_the_fair_score_what_it_was(far):
    """The largest draw has no part in E|X - y| - E|X - X'| / 2 beyond the next."""
    rng = np.random.default_rng(1)
    quantiles, draws = ensemble(norm.ppf(LEVELS), False), rng.normal(size=8)
    scores = []
    for last in (100.0, far):
        members = [ensemble([*draws, last], True), quantiles]
        scores.append(mixture_crps(WEIGHTS[:, None, None, None], members, Y))
        scores.append(crps(members[0]["ensemble"][0], Y[0])[None])
    assert_allclose(scores[0], scores[2])
    assert_allclose(scores[1], scores[3])


def test_infinite_and_missing_draws_are_infinitely_far_and_never_nan():
    def member(values):
        own = ensemble(values, True)
        samples = own["ensemble"][0]
        mean = samples.sum(axis=0)[None] / len(samples)
        return own | {"mean": mean, "pit": np.full(Y.shape, 0.5), "crps": crps(samples, Y[0])[None]}

    good = member([0.0, 1.0, 2.0])
    for wild in ([0.0, np.inf, np.inf], [0.0, np.nan, 1.0]):
        for members in ([member(wild)], [good, member(wild)]):
            log_weights = np.log(np.full((len(members), 1), 1 / len(members)))
            found = real_values(log_weights, members, Y, np.ones_like(Y), np.ones(1))
            assert found["crps"] == found["squared_error"] == np.inf
        without = np.array([[0.0], [-np.inf]])  # a member of no weight does no harm
        found = real_values(without, [good, member(wild)], Y, np.ones_like(Y), np.ones(1))
        assert np.isfinite(found["squared_error"]) and np.isfinite(found["crps"])


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
