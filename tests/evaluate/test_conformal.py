"""Conformal intervals: coverage by exchangeable functions, refusals, laws of samples."""

import json

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose

from geomndp.evaluate import Conformal, conformal, pit
from geomndp.evaluate.conformal import NUM_SHARES, from_transforms
from geomndp.evaluate.task_metrics import TaskMetrics
from geomndp.gp import GP
from geomndp.kernels import SquaredExponential
from geomndp.marginals import NormalMarginals, SampleMarginals
from geomndp.model import ProcessModel


def transforms(rng, functions, std=1.0, values=6):
    """Of values N(0, 1), one level per function and noise, under the law N(0, std^2)."""
    level = np.sqrt(0.7) * rng.normal(size=(functions, 1))
    y = level + np.sqrt(0.3) * rng.normal(size=(functions, values))
    return scipy.stats.norm.cdf(y / std)


@pytest.mark.parametrize("std", [1.0, 0.5, 3.0])
def test_new_functions_are_covered_whatever_the_law(std):
    """Few dependent functions, also under a law of half the spread, or three times it."""
    rng, count, repeats, covered = np.random.default_rng(0), 19, 1000, []
    for _ in range(repeats):
        pits = transforms(rng, count + 1, std)
        tail = from_transforms(pits[:-1], range(count), "a" * count).law_tail(0.9)
        covered.append(np.mean(np.abs(pits[-1] - 0.5) <= 0.5 - tail / 2))
    error = np.std(covered) / np.sqrt(repeats)
    assert 0.9 - 3 * error < np.mean(covered) < 0.9 + 1.5 / (count + 1)


def test_intervals_of_the_right_law_stay_as_they_are():
    pits = transforms(np.random.default_rng(1), 4000)
    found = from_transforms(pits, range(4000), "a" * 4000)
    half_widths = [scipy.stats.norm.isf(found.law_tail(level) / 2) for level in (0.5, 0.9, 0.98)]
    assert_allclose(half_widths, scipy.stats.norm.ppf([0.75, 0.95, 0.99]), rtol=0.03)


def test_functions_and_kinds_count_alike_whatever_their_number_of_values():
    """One function of a kind "b" has three tasks, whose values weigh as much as one of "a"."""
    pits = np.array([[0.5, np.nan], [0.1, 0.1], [0.1, 0.1], [0.1, 0.1], [0.3, 0.4]])
    found = conformal(TaskMetrics(tuple("abbba"), tuple("uuuuv"), {}, pits))
    assert found.num_functions == 2
    shares = {tail: np.mean(np.isclose(found.tails, tail)) for tail in (1.0, 0.8, 0.6, 0.2)}
    assert_allclose(list(shares.values()), 0.25, atol=1 / NUM_SHARES)
    one = conformal(TaskMetrics(tuple("abbba"), tuple("uuuuv"), {}, pits), {"u": 0, "v": 0})
    assert one.num_functions == 1


def test_too_few_functions_and_values_without_probability_are_refused():
    even = Conformal(8, tuple(np.linspace(1, 1e-3, NUM_SHARES)))
    with pytest.raises(ValueError, match="at least 9 held-out functions"):
        even.law_tail(0.9)
    assert even.law_tail(0.8) < 0.2
    assert even._replace(num_functions=9).law_tail(0.9) == pytest.approx(1e-3)
    with pytest.raises(ValueError, match="gives some of these no probability"):
        even._replace(tails=(0.0,) * NUM_SHARES).law_tail(0.8)
    with pytest.raises(ValueError, match="0 < level < 1"):
        even.law_tail(1.5)
    with pytest.raises(ValueError, match="expected held-out values"):
        from_transforms(np.full((2, 3), np.nan), "ab", "aa")


def test_intervals_of_samples_reach_beyond_them():
    """The end of an interval has the rank that belongs to it."""
    samples = jr.normal(jr.key(0), (30, 50, 2))
    law = SampleMarginals(samples)
    for tail in (0.05, 1e-3):
        low, high = law.interval(tail)
        assert_allclose(pit(samples, low, key=jr.key(1)), tail / 2, rtol=1e-4)
        assert_allclose(1 - pit(samples, high, key=jr.key(1)), tail / 2, rtol=1e-2)
        assert bool(jnp.all(high > samples.max(axis=0)))


@pytest.mark.parametrize("tail", [0.5, 0.1, 0.05 * (1 + 1e-6), 0.02])
def test_intervals_of_samples_cover_a_further_one(tail):
    """Ends by ranks among 40 values, of which 39 are known, not by quantiles of these 39."""
    draws = jr.normal(jr.key(2), (40, 20_000, 1))
    low, high = SampleMarginals(draws[1:]).interval(tail)
    assert np.mean((low <= draws[0]) & (draws[0] <= high)) == pytest.approx(1 - tail, abs=0.01)
    assert_allclose(SampleMarginals(draws[1:]).interval(0.05), (draws[1:].min(0), draws[1:].max(0)))


def test_a_posterior_is_asked_for_the_corrected_level():
    model = ProcessModel(GP(SquaredExponential(1.0), noise=0.01)).with_variables("x", "y")
    law, x = model.condition([0.0], [1.0]), np.array([0.5, 2.0])
    corrected = Conformal(99, (0.02,) * NUM_SHARES)
    assert_allclose(law.interval(x), law.quantile([0.05, 0.95], x), rtol=1e-5)
    ends = law.interval(x, level=0.9, conformal=corrected)
    assert_allclose(ends, law.quantile([0.01, 0.99], x), rtol=1e-5)
    exact = NormalMarginals(law.mean(x), law.std(x)).interval(0.02)
    assert_allclose(ends, exact, rtol=1e-4)


def test_a_file_without_held_out_functions_is_refused(tmp_path):
    model = ProcessModel(GP(SquaredExponential(1.0), noise=0.01)).with_variables("x", "y")
    model.save(tmp_path / "plain")
    with pytest.raises(ValueError, match=r"call gn\.evaluate\.conformal with tasks"):
        Conformal.load(tmp_path / "plain")
    kept = Conformal(9, (0.1,) * NUM_SHARES)
    model.save(tmp_path / "fitted", {"selection": {"conformal": json.loads(json.dumps(kept))}})
    assert Conformal.load(tmp_path / "fitted") == kept
