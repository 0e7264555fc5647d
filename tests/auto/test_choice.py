"""The choice between simple and learnt laws, on Gaussian values whose law is known."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.stats import norm

from geomndp.auto.choice import choose
from geomndp.auto.held_out import HeldOut
from geomndp.auto.mixture_weights import best_mixture
from geomndp.auto.validation import ValidationTasks

COUNT = 400


def _tasks() -> ValidationTasks:
    """One context value and one target value per function."""
    ones = np.ones((COUNT, 2))
    arrays = (ones[:, :, None], ones[:, :, None], ones, ones * [1.0, 0.0])
    row = np.arange(COUNT)
    return ValidationTasks(*arrays, 1, row, np.array(["few"] * COUNT), row)


def _candidates(*laws: tuple[float, float]) -> dict[str, HeldOut]:
    """Log-densities of values of two scales under normal laws of a mean and a scale."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(2, COUNT)) * np.where(rng.uniform(size=COUNT) < 0.7, 0.5, 3.0)
    return {
        f"{mean:g}, {scale:g}": HeldOut(*norm(mean, scale).logpdf(values[::-1]))
        for mean, scale in laws
    }


def test_a_simple_law_keeps_the_weights_of_all_tasks():
    """Though networks, which lose here, were measured on a few of them."""
    simple, tasks, rows = _candidates((0.0, 0.5), (0.0, 3.0)), _tasks(), np.arange(12)
    learnt = {name: held.take(rows) for name, held in _candidates((9.0, 0.5)).items()}
    choice = choose(simple, learnt, rows, tasks)
    expected = best_mixture(simple, tasks)
    assert choice.law.names == expected.names and len(expected.names) == 2
    assert_allclose(choice.law.log_weights, expected.log_weights)
    assert len(choice.law.per_value) == len(rows) and not choice.tie


def test_the_best_stop_of_a_network_that_has_learnt_nothing_seldom_wins():
    """Nine functions, twenty stops: the best gain is above two standard errors in every second."""
    rng, count, wins, large = np.random.default_rng(1), 9, 0, 0
    rows, tasks = np.arange(count), _tasks().take(np.arange(count))
    simple = {"simple": HeldOut(np.zeros(count), np.zeros(count))}
    for _ in range(40):
        stops = rng.normal(0.0, 0.1, (20, count))
        best = stops[np.argmax(stops.mean(axis=1))]
        learnt = {"network": HeldOut(best, np.zeros(count))}
        wins += "network" in choose(simple, learnt, rows, tasks).law.names
        large += best.mean() > 2 * best.std(ddof=1) / count**0.5
    assert wins <= 6 < 12 < large


def test_the_right_law_wins_and_a_copy_is_a_tie():
    simple, tasks, rows = _candidates((0.0, 0.5)), _tasks(), np.arange(COUNT)
    right = _candidates((0.0, 3.0))
    assert choose(simple, right, rows, tasks).law.names[0] == "0, 3"
    copy = {"copy": simple["0, 0.5"]}
    assert choose(simple, copy, rows, tasks).law.names == ("0, 0.5",)
