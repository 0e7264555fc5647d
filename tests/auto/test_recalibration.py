"""Random scales: closed forms against exact Gaussian laws, and the choice of a scale."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal, multivariate_t, t as student_t

from geomndp.auto.gaussian_measure import GaussianMeasure
from geomndp.auto.held_out import HeldOut
from geomndp.auto.recalibration import (
    DEGREES,
    FACTORS,
    GAUSSIAN,
    RandomScale,
    calibrate,
    mixed,
    mixed_pit,
)
from geomndp.auto.validation import ValidationTasks

COVARIANCE = np.array([[1.0, 0.6, 0.3], [0.6, 1.0, 0.6], [0.3, 0.6, 1.0]])


def _tasks(y: np.ndarray) -> ValidationTasks:
    """One context value and two targets per function."""
    count = len(y)
    ones = np.ones((count, 3))
    kind = np.array(["few"] * count)
    context = ones * [1.0, 0.0, 0.0]
    row = np.arange(count)
    return ValidationTasks(ones[..., None], y[..., None], ones, context, 1, row, kind, row)


def _held_out(y: np.ndarray, factor: float) -> HeldOut:
    joint = multivariate_normal(np.zeros(3), factor * COVARIANCE).logpdf(y)
    context = multivariate_normal(np.zeros(1), factor * COVARIANCE[:1, :1]).logpdf(y[:, :1])
    return HeldOut(joint - context, context)


def _values(count: int, scale=1.0) -> np.ndarray:
    rng = np.random.default_rng(0)
    root = np.linalg.cholesky(COVARIANCE)
    return np.sqrt(np.broadcast_to(scale, count))[:, None] * (rng.normal(size=(count, 3)) @ root.T)


def _law(y: np.ndarray) -> GaussianMeasure:
    """Two targets given one value."""
    inverse = np.linalg.inv(COVARIANCE)
    squares = np.einsum("ti,ij,tj->t", y, inverse, y)
    squares = np.stack([squares - y[:, 0] ** 2, y[:, 0] ** 2], axis=1)
    gain = COVARIANCE[1:, 0] / COVARIANCE[0, 0]
    std = np.sqrt(1.0 - COVARIANCE[1:, 0] ** 2)
    residuals = (y[:, 1:] - y[:, :1] * gain) / std
    counts = np.broadcast_to([2, 1], squares.shape)
    return GaussianMeasure(_held_out(y, 1.0), squares, counts, residuals)


@pytest.mark.parametrize("factor", [0.3, 1.0, 5.0])
def test_squares_give_all_factors(factor):
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
    found = mixed(_law(y), RandomScale(1.0, dof))
    assert abs(np.mean(found.context - context)) < 0.03
    assert abs(np.mean(found.targets - (joint - context))) < 0.03


def test_transforms_of_a_random_scale_are_those_of_a_student_t_law():
    """The conditional law of a target: more degrees of freedom, a scale by the context."""
    dof, y = 8.0, _values(300)
    pit = mixed_pit(_law(y), RandomScale(1.0, dof))
    residuals = _law(y).residuals
    # shape S = K (dof - 2) / dof; given c: scale^2 = (dof + c^2 / S_cc) / (dof + 1) S_{t|c}
    factor = (dof - 2 + y[:, :1] ** 2) / (dof + 1)
    assert_allclose(pit, student_t(dof + 1).cdf(residuals / np.sqrt(factor)), atol=0.02)


@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_the_scale_of_the_values_is_found(factor):
    y = _values(4000, factor)
    scale = calibrate(_law(y), _tasks(y)).scale
    assert scale.factor == factor and (scale.dof is None or scale.dof >= 30)
    assert (scale == GAUSSIAN) == (factor == 1.0)


def test_heavy_tails_are_found():
    """Scales of an inverse chi-squared law with 5 degrees of freedom and mean one."""
    scale = 3.0 / np.random.default_rng(1).chisquare(5.0, 4000)
    y = _values(4000, scale)
    law = calibrate(_law(y), _tasks(y))
    assert law.scale.dof in (5.0, 8.0) and 0.8 <= law.scale.factor <= 1.25
    assert "random scale of" in str(law.scale)
    assert abs(np.mean(np.abs(law.pit - 0.5) < 0.45) - 0.9) < 0.015


def test_what_is_reported_was_chosen_on_other_functions():
    """One wild function: its own factor would suit it, and is not the one that reports it."""
    y = _values(50, 2.0)
    y[7] *= 4.0
    law, tasks = _law(y), _tasks(y)
    found = calibrate(law, tasks)
    others = np.flatnonzero(np.arange(50) % 5 != 7 % 5)
    scales = [RandomScale(factor, dof) for factor in FACTORS for dof in DEGREES]
    chosen = max(scales, key=lambda scale: mixed(law.take(others), scale).targets.mean())
    expected = mixed(law, chosen).targets[7]
    assert_allclose(found.held_out.targets[7], expected)
    assert found.held_out.targets[7] < mixed(law, found.scale).targets[7]


def test_a_scale_of_ones_own_stays_unless_another_is_better():
    y = _values(400)
    start = RandomScale(1.0, 60.0)
    found = calibrate(_law(y), _tasks(y), start)
    assert found.scale == start
    assert_allclose(found.held_out.targets, mixed(_law(y), start).targets)


def test_a_task_without_a_density_stays_without():
    y = _values(3)
    law = _law(y)
    law.plain.targets[0] = law.plain.context[1] = -np.inf
    for held in (law.at(0.8), mixed(law, RandomScale(1.0, 8.0))):
        assert held.targets[0] == held.context[1] == -np.inf
        assert np.isfinite([held.targets[2], held.context[2]]).all()
