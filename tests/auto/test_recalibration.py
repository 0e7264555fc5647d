"""Random scales: closed forms against exact Gaussian laws, and the choice of a scale."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal, multivariate_t

from geomndp.auto.held_out import HeldOut
from geomndp.auto.recalibration import PROBE, RandomScale, ScaledLaw, best_scale
from geomndp.auto.validation import ValidationTasks

COVARIANCE = np.array([[1.0, 0.6, 0.3], [0.6, 1.0, 0.6], [0.3, 0.6, 1.0]])


def _tasks(y: np.ndarray) -> ValidationTasks:
    """One context value and two targets per function."""
    count = len(y)
    ones = np.ones((count, 3))
    kind = np.array(["few"] * count)
    context = ones * [1.0, 0.0, 0.0]
    return ValidationTasks(ones[..., None], y[..., None], ones, context, 1, np.arange(count), kind)


def _held_out(y: np.ndarray, factor: float) -> HeldOut:
    joint = multivariate_normal(np.zeros(3), factor * COVARIANCE).logpdf(y)
    context = multivariate_normal(np.zeros(1), factor * COVARIANCE[:1, :1]).logpdf(y[:, :1])
    return HeldOut(joint - context, context)


def _values(count: int, scale=1.0) -> np.ndarray:
    rng = np.random.default_rng(0)
    root = np.linalg.cholesky(COVARIANCE)
    return np.sqrt(np.broadcast_to(scale, count))[:, None] * (rng.normal(size=(count, 3)) @ root.T)


def _law(y: np.ndarray) -> ScaledLaw:
    return ScaledLaw.of(_held_out(y, 1.0), _held_out(y, PROBE), _tasks(y))


@pytest.mark.parametrize("factor", [0.3, 1.0, 5.0])
def test_two_factors_give_all_others(factor):
    y = _values(20)
    found, expected = _law(y).at(factor), _held_out(y, factor)
    assert_allclose(found.targets, expected.targets)
    assert_allclose(found.context, expected.context)


def test_a_random_scale_is_a_student_t_law():
    """Conditional densities too: the weights follow the context."""
    dof, y = 8.0, _values(200)
    shape = COVARIANCE * (dof - 2) / dof
    joint = multivariate_t(np.zeros(3), shape, df=dof).logpdf(y)
    context = multivariate_t(np.zeros(1), shape[:1, :1], df=dof).logpdf(y[:, :1])
    mixed = _law(y).mixed(RandomScale(1.0, dof))
    assert abs(np.mean(mixed.context - context)) < 0.03
    assert abs(np.mean(mixed.targets - (joint - context))) < 0.03


@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_the_scale_of_the_values_is_found(factor):
    y = _values(4000, factor)
    scale = best_scale(_law(y), _tasks(y))
    assert scale.factor == factor and (scale.dof is None or scale.dof >= 30)
    assert (scale == RandomScale()) == (factor == 1.0) or scale.dof is not None


def test_heavy_tails_are_found():
    """Scales of an inverse chi-squared law with 5 degrees of freedom and mean one."""
    scale = 3.0 / np.random.default_rng(1).chisquare(5.0, 4000)
    y = _values(4000, scale)
    found = best_scale(_law(y), _tasks(y))
    assert found.dof in (5.0, 8.0) and 0.8 <= found.factor <= 1.25
    assert "random scale of" in str(found)


def test_a_task_without_a_density_stays_without():
    y = _values(3)
    laws = [_held_out(y, factor) for factor in (1.0, PROBE)]
    laws[1].targets[0] = laws[0].context[1] = -np.inf
    law = ScaledLaw.of(*laws, _tasks(y))
    for held in (law.at(0.8), law.mixed(RandomScale(1.0, 8.0))):
        assert held.targets[0] == held.context[1] == -np.inf
        assert np.isfinite([held.targets[2], held.context[2]]).all()
