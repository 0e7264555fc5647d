"""Training of neural processes by the loop of the package."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from geomndp import data
from geomndp._types import Batch
from geomndp.baselines.neural_processes.autoregressive import Autoregressive
from geomndp.baselines.neural_processes.te_tnp import TETNP
from geomndp.baselines.neural_processes.training import NeuralProcessLoss, fit_process
from geomndp.gp import GP
from geomndp.kernels import SquaredExponential as SE
from geomndp.train import CheckpointError

from .test_te_tnp import TINY
from .toys import MarginalGP

EXACT = GP(SE(0.5), noise=0.05)
GENERATOR = data.regression1d("paper", "se").generator(batch_size=8)


def batch() -> Batch:
    """Three functions of five points: one whole, one padded, one of context points alone."""
    x = jr.uniform(jr.key(0), (3, 5, 1), minval=-1.0, maxval=1.0)
    y = jr.normal(jr.key(1), (3, 5, 1))
    mask = jnp.asarray([[1.0, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 1, 0, 0, 0]])
    context = jnp.asarray([[1.0, 0, 1, 0, 0], [0, 0, 0, 0, 0], [1, 1, 0, 0, 0]])
    nothing = mask[..., None] == 0
    return Batch(jnp.where(nothing, jnp.nan, x), jnp.where(nothing, jnp.nan, y), mask, context)


def test_loss_is_the_negative_log_density_per_target_of_functions_that_have_any():
    functions = batch()
    loss, info = NeuralProcessLoss()(MarginalGP(EXACT), None, functions, key=jr.key(0))
    expected = []
    for i, (given, wanted) in enumerate((([0, 2], [1, 3, 4]), ([], [0, 1, 2]))):
        given, wanted = np.asarray(given, int), np.asarray(wanted)
        law = EXACT.condition(functions.x[i, given], functions.y[i, given]).marginals(
            functions.x[i, wanted]
        )
        expected.append(-np.mean(law.log_prob(functions.y[i, wanted])))
    assert_allclose(info.losses, [*expected, 0.0], rtol=1e-8)
    assert_allclose(loss, np.mean(expected), rtol=1e-8)
    assert np.isnan(info.times).all()


def test_gradients_ignore_what_is_masked():
    process = TETNP(1, 1, **TINY, key=jr.key(0))
    functions = batch()

    def loss(process):
        return NeuralProcessLoss()(process, None, functions, key=jr.key(0))[0]

    for leaf in jax.tree.leaves(jax.jit(jax.grad(loss))(process)):
        assert np.isfinite(leaf).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mask": jnp.ones((3, 5, 1))}, "outputs missing apart"),
        ({"noise": jnp.ones((3, 5))}, "known noise"),
    ],
)
def test_what_cannot_be_learnt_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        NeuralProcessLoss()(MarginalGP(EXACT), None, batch()._replace(**changes), key=jr.key(0))


def test_a_run_learns_is_resumed_and_refuses_other_settings(tmp_path):
    process = TETNP(1, 1, **TINY, key=jr.key(0))
    options = {"key": jr.key(1), "directory": tmp_path, "checkpoint_every": 20, "quiet": True}
    trained, history = fit_process(process, GENERATOR, steps=60, **options)
    assert np.mean(history.loss[-2:]) < np.mean(history.loss[:2]) - 0.05
    again, _ = fit_process(process, GENERATOR, steps=60, **options)
    for got, want in zip(jax.tree.leaves(again), jax.tree.leaves(trained), strict=True):
        assert_array_equal(got, want)
    with pytest.raises(CheckpointError, match="network"):
        fit_process(Autoregressive(process), GENERATOR, steps=60, **options)
