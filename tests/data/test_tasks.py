"""Fixed test sets: the protocol, and the exact Gaussian process's score under it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from geomndp import data

# Mean log-density a target of the exact process, computed independently with 4096 functions.
EXACT = {
    ("paper", "se"): 0.727,
    ("paper", "matern"): 0.331,
    ("paper", "weakly-periodic"): -0.328,
    ("gnp2020", "se"): 0.702,
    ("gnp2020", "matern"): 0.309,
    ("gnp2020", "weakly-periodic"): -0.316,
}


def exact_scores(problem, num, region="in-range", seed=0):
    gp, batch = problem.process.gp, problem.tasks(num, region=region, seed=seed)

    def one(x, y, mask, context):
        joint = gp.log_prob(x, y, mask)
        return (joint - gp.log_prob(x, y, context)) / jnp.sum(mask - context)

    return np.asarray(jax.jit(jax.vmap(one))(*batch[:4]))


@pytest.mark.parametrize("case", EXACT, ids=" ".join)
def test_exact_process_scores_as_known(case):
    scores = exact_scores(data.regression1d(*case), 512)
    # The known number has a standard error too, of 512 / 4096 the variance.
    error = scores.std() / np.sqrt(512) * np.sqrt(1 + 512 / 4096)
    assert abs(scores.mean() - EXACT[case]) < 4 * error < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("case", EXACT, ids=" ".join)
def test_exact_process_scores_as_known_on_the_full_set(case):
    for region in data.REGIONS:
        scores = exact_scores(data.regression1d(*case), 4096, region)
        assert abs(scores.mean() - EXACT[case]) < 0.02


@pytest.mark.parametrize(
    ("suite", "name", "fewest", "targets"),
    [("paper", "se", 1, 50), ("gnp2020", "matern", 0, 50), ("paper", "mixture", 1, 100)],
)
def test_protocol(suite, name, fewest, targets):
    problem = data.regression1d(suite, name)
    batch = problem.tasks(300)
    assert batch.x.shape == (300, 10 + targets, 1)
    counts = np.asarray(batch.context).sum(1)
    assert counts.min() == fewest and counts.max() == 10
    assert_array_equal(batch.context[:, 10:], 0)
    assert_array_equal(batch.mask[:, 10:], 1)
    assert_array_equal(batch.mask[:, :10], batch.context[:, :10])
    assert problem.max_points == targets + 10


def test_out_of_range_moves_the_inputs():
    batch = data.regression1d("paper", "sawtooth").tasks(50, region="out-of-range")
    assert float(batch.x.min()) >= 2 and float(batch.x.max()) <= 6


def test_extrapolation_moves_the_targets_alone():
    problem = data.regression1d("np2023", "sawtooth")
    batch, within = (problem.tasks(50, region=r) for r in (data.EXTRAPOLATION, "in-range"))
    assert_array_equal(batch.x[:, :30], within.x[:, :30])
    targets = np.asarray(batch.x[:, 30:])
    assert targets.shape == (50, 100, 1)
    assert targets.min() >= 2 and targets.max() <= 6 and targets.mean() > 3.9
    counts = np.asarray(problem.tasks(400).context).sum(1)
    assert counts.min() == 0 and counts.max() == 30


def test_old_names_of_regions_warn():
    problem = data.regression1d("paper", "sawtooth")
    with pytest.warns(DeprecationWarning, match="'generalisation' is deprecated.*'out-of-range'"):
        batch = problem.tasks(2, region="generalisation")
    assert_array_equal(batch.x, problem.tasks(2, region="out-of-range").x)


def test_same_seed_same_functions_in_both_precisions():
    problem = data.regression1d("paper", "mixture")
    first, again = problem.tasks(20, seed=3), problem.tasks(20, seed=3)
    single = problem.tasks(20, seed=3, dtype="float32")
    for a, b, c in zip(first[:4], again[:4], single[:4], strict=True):
        assert_array_equal(a, b)
        assert a.dtype == jnp.float64 and c.dtype == jnp.float32
        assert_array_equal(a, c.astype(jnp.float64))
    other = problem.tasks(20, seed=4)
    assert not np.allclose(first.y, other.y)


def test_bad_settings_are_refused():
    process = data.regression1d("paper", "se").process
    with pytest.raises(ValueError, match="num to be a whole number >= 1, got 0"):
        data.tasks(process, num=0)
    with pytest.raises(ValueError, match="contexts to be a whole number >= 5, got 2"):
        data.tasks(process, num=1, contexts=(5, 2))
    with pytest.raises(ValueError, match=r"low < high, got 6\.0 and 2\.0"):
        data.tasks(process, num=1, target_range=(6.0, 2.0))
    with pytest.raises(ValueError, match=r"'in-range', 'out-of-range', 'extrapolation'"):
        data.regression1d("paper", "se").tasks(1, region="outside")
