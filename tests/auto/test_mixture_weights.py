"""Weights of mixtures against mixtures of Gaussians whose weights are known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from geomndp.auto.held_out import HeldOut
from geomndp.auto.mixture_weights import (
    best_mixture,
    cross_validated,
    fit_weights,
    mixture_per_value,
    paired_difference,
)
from geomndp.auto.validation import ValidationTasks

SCALES = (0.5, 3.0)


def _tasks(count: int) -> ValidationTasks:
    """One context value and one target value per function."""
    ones = np.ones((count, 2))
    context = ones * [1.0, 0.0]
    kind = np.array(["few"] * count)
    row = np.arange(count)
    return ValidationTasks(ones[:, :, None], ones[:, :, None], ones, context, 1, row, kind, row)


def _candidates(share: float, count: int = 1500) -> dict[str, HeldOut]:
    """Functions of two values, of one scale or the other; the last candidate is neither."""
    rng = np.random.default_rng(0)
    scale = np.where(rng.uniform(size=count) < share, *SCALES)
    context, targets = rng.normal(size=(2, count)) * scale
    members = {f"scale {s}": (s, 0.0) for s in SCALES} | {"far": (0.5, 20.0)}
    return {
        name: HeldOut(norm(mean, s).logpdf(targets), norm(mean, s).logpdf(context))
        for name, (s, mean) in members.items()
    }


@pytest.mark.parametrize("share", [0.5, 0.8])
def test_weights_are_those_of_the_law(share):
    candidates = _candidates(share)
    tasks = _tasks(1500)
    weights = np.exp(fit_weights([candidates[f"scale {s}"] for s in SCALES], tasks))
    # The context tells most of the scale: weights are worth about as much as 500 coin tosses.
    assert_allclose(weights, [share, 1 - share], atol=4 * np.sqrt(share * (1 - share) / 500))


def test_the_members_of_the_law_are_found():
    candidates, tasks = _candidates(0.5), _tasks(1500)
    mixture = best_mixture(candidates, tasks)
    assert set(mixture.names) == {"scale 0.5", "scale 3.0"}
    single = cross_validated(("scale 3.0",), candidates, tasks)
    gain, error = paired_difference(mixture.per_value, single.per_value, tasks)
    assert gain > 5 * error


def test_one_member_stays_alone():
    candidates, tasks = _candidates(1.0), _tasks(1500)
    mixture = best_mixture({name: candidates[name] for name in ("scale 0.5", "far")}, tasks)
    assert mixture.names == ("scale 0.5",)
    assert_allclose(mixture.per_value, candidates["scale 0.5"].targets)


def test_contexts_change_the_weights():
    """Two members, one task: by hand."""
    tasks = _tasks(1)
    members = [HeldOut(np.array([-1.0]), np.array([-2.0])), HeldOut(*np.array([[-3.0], [0.0]]))]
    weights = np.log([0.25, 0.75])
    posterior = np.array([0.25 * np.exp(-2.0), 0.75])
    posterior /= posterior.sum()
    expected = np.log(posterior @ np.exp([-1.0, -3.0]))
    assert_allclose(mixture_per_value(weights, members, tasks), [expected])


def test_the_paired_error_is_over_functions():
    tasks = _tasks(3)
    difference, error = paired_difference(np.array([1.0, 2.0, 4.5]), np.zeros(3), tasks)
    assert_allclose((difference, error), (2.5, np.std([1, 2, 4.5], ddof=1) / np.sqrt(3)))
    assert paired_difference(np.ones(1), np.zeros(1), _tasks(1)) == (1.0, np.inf)


def test_functions_of_a_group_count_once():
    """Equal scans of a person tell what one does, and weights are fitted to other persons."""
    candidates, tasks = _candidates(0.5, count=30), _tasks(30)
    rows = np.repeat(np.arange(30), 3)
    scans = tasks.take(rows)._replace(function=np.arange(90))
    values = np.random.default_rng(0).normal(size=30)
    expected = paired_difference(values, np.zeros(30), tasks)
    assert_allclose(paired_difference(values[rows], np.zeros(90), scans), expected)
    alike = np.tile([0.5, 1.5, 1.0], 30)  # persons agree by chance, their scans do not
    error = paired_difference(alike, np.zeros(90), scans)[1]
    assert_allclose(error, np.std(alike, ddof=1) / np.sqrt(90))
    names = ("scale 0.5", "scale 3.0")
    members = {name: held.take(rows) for name, held in candidates.items()}
    weights = cross_validated(names, members, scans).weights_by_task
    assert_allclose(weights.reshape(30, 3, 2), np.repeat(weights[::3, None], 3, axis=1))
    assert len(np.unique(scans.parts(5).reshape(30, 3))) == 5


def test_contexts_without_a_density():
    """A law alone needs none; a mixture has the members that have one, or no density."""
    candidates, tasks = _candidates(0.5, count=10), _tasks(10)
    first, second, _ = candidates.values()
    first.context[:2] = second.context[:1] = -np.inf
    assert_allclose(
        cross_validated(("scale 0.5",), candidates, tasks).per_value, first.targets, rtol=1e-12
    )
    mixed = mixture_per_value(np.log([0.5, 0.5]), [first, second], tasks)
    assert mixed[0] == -np.inf and np.isclose(mixed[1], second.targets[1])
    assert np.isfinite(mixed[1:]).all()
