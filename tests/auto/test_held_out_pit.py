"""Transforms of held-out values: exact Gaussian ones, and those of mixtures."""

import jax
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from geomndp import Model
from geomndp.auto.held_out import HeldOut
from geomndp.auto.held_out_pit import NUM_SAMPLES, held_out_pit, mixture_pit
from geomndp.auto.validation import validation_tasks
from geomndp.data import Normaliser
from geomndp.gp import GP
from geomndp.kernels import White
from geomndp.noising import DEFAULT_SCHEDULE_1D, OrnsteinUhlenbeck
from geomndp.score import GaussianScore

UNITS = Normaliser(y_shift=5.0, y_scale=2.0)


@pytest.fixture(scope="module")
def tasks():
    """Independent normal values of mean 5 and standard deviation 2: contexts tell nothing."""
    x = np.broadcast_to(np.linspace(0, 1, 12)[None, :, None], (40, 12, 1))
    y = 5.0 + 2.0 * np.asarray(jax.random.normal(jr.key(0), (40, 12, 1)))
    return validation_tasks(x, y, np.ones((40, 12), bool), np.arange(40), seed=0)


def test_transforms_by_samples_in_the_units_of_the_data(tasks):
    model = Model(OrnsteinUhlenbeck(White(), DEFAULT_SCHEDULE_1D), GaussianScore(GP(White())))
    pit = held_out_pit(model, UNITS, tasks.take(np.arange(16)), key=jr.key(0))
    targets = tasks.y[:16, tasks.num_context :]
    real = tasks.mask[:16, tasks.num_context :, None] > 0
    expected = norm(5, 2).cdf(targets[real])
    assert np.abs(pit[real] - expected).max() < 5 * 0.5 / np.sqrt(NUM_SAMPLES)
    assert np.isnan(pit[~real]).all()


def test_a_mixture_weighs_by_the_context():
    members = [HeldOut(np.zeros(2), np.log([0.9, 0.5])), HeldOut(np.zeros(2), np.log([0.1, 0.5]))]
    pits = [np.full((2, 3, 1), 0.2), np.full((2, 3, 1), 0.8)]
    mixed = mixture_pit(np.log(np.full((2, 2), 0.5)), members, pits)
    assert_allclose(mixed[:, 0, 0], [0.9 * 0.2 + 0.1 * 0.8, 0.5])
