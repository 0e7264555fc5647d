"""The attentive neural process: one latent vector for all targets."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.baselines.neural_processes.anp import ANP

from .checks import check_all, predict, problem, with_random_parameters

TINY = {"width": 8, "num_heads": 2, "num_encoder_layers": 2, "num_decoder_layers": 2}
TINY |= {"training_samples": 3, "prediction_samples": 5, "min_std": 0.05, "dtype": "float64"}


@pytest.fixture(scope="module")
def process():
    return with_random_parameters(ANP(1, 1, **TINY, key=jr.key(0)))


def test_it_passes_all_checks(process):
    check_all(process, key=jr.key(1))


def test_it_has_the_layers_and_channels_of_the_authors():
    process = ANP(1, 1, key=jr.key(0))
    assert len(process.describe.layers) == len(process.decoder.layers) == 6
    assert process.decoder.layers[0].weight.shape == (128, 1 + 2 * 128)
    assert process.config.num_heads == 8


def test_targets_share_the_latent_vector(process):
    context, (x, mask), _ = problem(process, targets=2)
    samples = predict(process, context, (x[:1].repeat(2, axis=0), mask), jr.key(0))
    far = samples.locations - samples.mean()[None]
    assert_allclose(far[:, 0], far[:, 1], atol=1e-12)
    assert np.std(far[:, 0]) > 1e-6


def test_loss_is_the_bound_of_as_many_samples(process):
    (xc, yc, one), (x, mask), y = problem(process)
    loss = process.training_loss(xc, yc, one, x, y, mask, key=jr.key(3))
    law = process.laws(xc, yc, one, x, 3, jr.key(3))
    assert_allclose(loss, -law.log_prob(y) / len(x))
    assert len(law.locations) == 3


def test_it_needs_a_key(process):
    (xc, yc, _), (x, _), y = problem(process)
    law = process.condition(xc, yc)
    with pytest.raises(ValueError, match="expected a key for the latent variable of ANP"):
        law.log_prob(x, y)
    assert not law.exact_marginals
    assert jnp.isfinite(law.log_prob(x, y, key=jr.key(0)))
