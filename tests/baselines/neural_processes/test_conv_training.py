"""Convolutional neural processes learn by the loop of the package."""

import jax
import jax.numpy as jnp
import jax.random as jr
import pytest

from geomndp import data
from geomndp.baselines.neural_processes.conv_cnp import ConvCNP
from geomndp.baselines.neural_processes.conv_gnp import ConvGNP
from geomndp.baselines.neural_processes.conv_np import ConvNP
from geomndp.baselines.neural_processes.full_conv_gnp import FullConvGNP
from geomndp.baselines.neural_processes.predictions import FactorisedGaussian
from geomndp.baselines.neural_processes.training import NeuralProcessLoss, fit_process
from geomndp.train import adam

SIZES = {"points_per_unit": 8.0, "num_layers": 3, "width": 12, "margin": 0.5}
KERNEL = {"kernel_points_per_unit": 5.0, "kernel_width": 8, "kernel_layers": 3}
LATENT = {"training_samples": 4, "latent_channels": 4}
STEPS = 200
PROBLEM = data.regression1d("gnp2020", "se")


def zero_function(batch) -> float:
    """Loss of unit normal values, the law of every value by itself without a context."""

    def one(y, targets):
        law = FactorisedGaussian(jnp.zeros_like(y), jnp.ones_like(y))
        return -law.log_prob(y, targets) / jnp.sum(targets)

    return float(jnp.mean(jax.vmap(one)(batch.y, batch.mask * (1 - batch.context))))


def loss_of(process, batch) -> float:
    loss = jax.jit(lambda p: NeuralProcessLoss()(p, None, batch, key=jr.key(3))[0])
    return float(loss(process))


def train(kind, **options):
    """Process before and after training, and functions of 30 context points."""
    contexts = data.ContextSampler(share=1.0, few_share=0.0)
    generator = PROBLEM.generator(batch_size=16, contexts=contexts, dtype="float32")
    process = kind(1, 1, **SIZES, **options, dtype="float32", key=jr.key(0))
    settings = {"optimiser": adam(STEPS, peak=5e-3), "ema_decay": 0.95, "quiet": True}
    trained, _ = fit_process(process, generator, steps=STEPS, key=jr.key(1), **settings)
    batch = generator.draw(jr.key(2))
    marks = jnp.zeros_like(batch.mask).at[:, :30].set(1.0)
    return process, trained, batch._replace(mask=jnp.ones_like(batch.mask), context=marks)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (ConvCNP, {}),
        (ConvCNP, {"network": "unet"}),
        (ConvGNP, {"rank": 8}),
        (FullConvGNP, KERNEL),
        (ConvNP, LATENT),
    ],
)
def test_two_hundred_steps_predict_better_than_the_zero_function(kind, options):
    _, trained, batch = train(kind, **options)
    assert loss_of(trained, batch) < zero_function(batch) - 0.15


@pytest.mark.slow
def test_two_hundred_steps_raise_the_evidence_lower_bound():
    process, trained, batch = train(ConvNP, **LATENT, objective="elbo")
    assert loss_of(trained, batch) < loss_of(process, batch) - 0.2
