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
    return ValidationTasks(*arrays, 1, np.arange(COUNT), np.array(["few"] * COUNT))


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


def test_the_right_law_wins_and_a_copy_is_a_tie():
    simple, tasks, rows = _candidates((0.0, 0.5)), _tasks(), np.arange(COUNT)
    right = _candidates((0.0, 3.0))
    assert choose(simple, right, rows, tasks).law.names[0] == "0, 3"
    copy = {"copy": simple["0, 0.5"]}
    assert choose(simple, copy, rows, tasks).law.names == ("0, 0.5",)
