"""Free weights of scales and noise: mixtures of exact laws are found, Gaussian ones stay."""

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.auto.free_scales import fit_scales, free_scales
from geomndp.auto.gaussian_candidate import noisier, scaled
from geomndp.auto.gaussian_measure import measure
from geomndp.auto.recalibration import (
    NOISES,
    Component,
    FreeScale,
    calibrate,
    mixed_components,
    mixed_components_pit,
)
from geomndp.auto.validation import validation_tasks
from geomndp.data import Normaliser
from geomndp.gp import GP
from geomndp.kernels import ShrunkCovariance, SquaredExponential

LAW = GP(SquaredExponential(1.0, 1.0), noise=0.02)
X = np.linspace(0, 4, 30)[:, None]


def _tasks(parts: FreeScale, count: int):
    """Tasks of functions of a mixture, and the law measured on them with every further noise."""
    rng = np.random.default_rng(3)
    weights = np.exp([part.log_weight for part in parts.parts])
    draws = []
    for index in rng.choice(len(weights), count, p=weights / weights.sum()):
        part = parts.parts[index]
        law = scaled(noisier(LAW, part.noise), part.factor)
        covariance = np.asarray(law.gram(jnp.asarray(X)).dense(), np.float64)
        draws.append(np.linalg.cholesky(covariance) @ rng.normal(size=len(X)))
    y = np.stack(draws)[:, :, None]
    x, mask = np.broadcast_to(X, y.shape), np.ones(y.shape[:2])
    tasks = validation_tasks(x, y, mask, np.arange(count), seed=0)
    laws = [measure(noisier(LAW, noise), Normaliser(), tasks) for noise in NOISES]
    return tasks, laws


def test_random_noise_is_found_and_the_intervals_cover():
    truth = FreeScale((Component(np.log(0.5)), Component(np.log(0.5), 1.0, 3.0)))
    tasks, laws = _tasks(truth, 60)
    known = calibrate(laws[0], tasks)
    found = free_scales(laws, tasks, known)
    exact = mixed_components(laws, truth)
    gain = (found.held_out.targets - exact.targets) / tasks.num_values()
    assert -0.02 < gain.mean() < 0.005  # cross-fitted: never ahead of the law that drew them
    lost = (known.held_out.targets - exact.targets) / tasks.num_values()
    assert lost.mean() < 3 * gain.mean()
    pit = found.pit[np.isfinite(found.pit)]
    assert abs(np.mean(np.abs(pit - 0.5) < 0.45) - 0.9) < 0.03
    assert "more noise for" in str(found.scale)


def test_functions_of_the_law_itself_keep_it():
    tasks, laws = _tasks(FreeScale((Component(0.0),)), 40)
    known = calibrate(laws[0], tasks)
    assert free_scales(laws, tasks, known) is known


def test_the_functions_that_report_did_not_choose_the_weights():
    truth = FreeScale((Component(np.log(0.5)), Component(np.log(0.5), 1.0, 3.0)))
    tasks, laws = _tasks(truth, 30)
    found = free_scales(laws, tasks, calibrate(laws[0], tasks))
    others, own = (np.flatnonzero((tasks.function % 5 == 2) == same) for same in (False, True))
    scale = fit_scales([law.take(others) for law in laws], tasks.take(others))
    expected = mixed_components([law.take(own) for law in laws], scale)
    assert_allclose(found.held_out.targets[own], expected.targets)
    pit = mixed_components_pit([law.take(own) for law in laws], scale)
    assert_allclose(found.pit[own], pit)


@pytest.mark.parametrize("dim", [1, 2])
def test_further_noise_is_that_of_the_process(dim):
    """Of a shrunk covariance, whose sample holds noise too, that of the process behind it."""
    noise = (0.02,) if dim == 1 else (0.02, 0.3)
    kernel = LAW.kernel if dim == 1 else _two_outputs()
    sample = np.eye(len(X) * dim)
    shrunk = ShrunkCovariance.fit(kernel, X, sample, 0.5, noise)
    weighted = tuple(0.5 * value for value in noise)
    law = GP(shrunk, noise=weighted if dim > 1 else weighted[0])
    x = jnp.asarray(X)
    before, after = (np.asarray(noisier(law, e).gram(x).dense()) for e in (0.0, 3.0))
    expected = np.diag(np.tile(3.0 * np.asarray(noise), len(X)))
    assert_allclose(after - before, expected, atol=1e-5)


def _two_outputs():
    from geomndp.kernels import Coregionalised

    return Coregionalised(LAW.kernel, ((1.0, 0.3), (0.3, 1.0)))
