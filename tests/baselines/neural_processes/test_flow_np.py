"""Flow matching over targets: solved flows of known velocities give known laws."""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.baselines.neural_processes.base import AbstractNeuralProcess
from geomndp.baselines.neural_processes.flow_np import FlowNP
from geomndp.baselines.neural_processes.flow_prediction import FlowPrediction
from geomndp.gp import GP
from geomndp.kernels import SquaredExponential as SE

from .checks import predict, problem, with_random_parameters

TINY = {"width": 8, "num_layers": 1, "num_heads": 2, "num_frequencies": 2, "steps": 8}
TINY |= {"min_std": 0.05, "dtype": "float64"}


@pytest.fixture(scope="module")
def process():
    return with_random_parameters(FlowNP(1, 1, **TINY, key=jr.key(0)))


EXACT = GP(SE(0.5), noise=0.1)


class GaussianFlow(AbstractNeuralProcess):
    """The exact mean velocity of a Gaussian process, E[noise - y | y_t]."""

    steps: int = eqx.field(default=32, static=True)
    joint: ClassVar[bool] = True

    @property
    def input_dim(self) -> int:
        return 1

    @property
    def dim(self) -> int:
        return 1

    @property
    def dtype(self) -> Any:
        return jnp.dtype("float64")

    def velocity(self, t, xc, yc, context_mask, x, y, mask):
        law = EXACT.condition(xc, yc, mask=context_mask)
        mean, covariance = law.mean_at(x), law.gram(x, mask).dense()
        total = (1 - t) ** 2 * covariance + t**2 * jnp.eye(len(x))
        moved = jnp.linalg.solve(total, y - (1 - t) * mean)
        return jnp.where(mask[:, None] > 0, t * moved - mean - (1 - t) * covariance @ moved, 0.0)

    def predict(self, xc, yc, context_mask, x, mask, *, key=None):
        return FlowPrediction(self, xc, yc, context_mask, x, mask, key, self.steps, 1e-3)


@eqx.filter_jit
def answers(law, y, mask):
    """Joint log-density, that of unmasked values, and marginal ones."""
    masked = law.log_prob(jnp.where(mask[:, None] > 0, y, jnp.nan), mask)
    return law.log_prob_info(y), masked, law.marginal_log_prob(y)


def test_density_of_an_exact_velocity_is_that_of_the_gaussian_process(process):
    context, (x, mask), y = problem(process)
    law = predict(GaussianFlow(), context, (x, mask))
    exact = EXACT.condition(*context[:2])
    info, masked, marginals = answers(law, y, jnp.asarray([1.0, 0.0, 1.0]))
    assert_allclose(info.value, exact.log_prob(x, y), atol=2e-3)
    assert info.solver_error < 1e-3
    assert info.evaluations == 4 * (32 + 16)
    assert_allclose(masked, exact.log_prob(x[::2], y[::2]), atol=2e-3)
    each = [exact.log_prob(x[i : i + 1], y[i : i + 1]) for i in range(3)]
    assert_allclose(marginals, each, atol=2e-3)


def test_samples_of_an_exact_velocity_have_the_moments_of_the_gaussian_process(process):
    context, targets, _ = problem(process)
    samples = predict(GaussianFlow(), context, targets).sample(key=jr.key(0), num_samples=2000)
    mean, covariance = EXACT.condition(*context[:2]).mean_and_covariance(targets[0])
    std = np.sqrt(np.diag(covariance))
    assert np.all(np.abs(samples.mean(0)[:, 0] - mean[:, 0]) < 5 * std / np.sqrt(2000))
    scaled = np.cov(samples[..., 0].T) / np.outer(std, std)
    assert_allclose(scaled, covariance / np.outer(std, std), atol=0.1)


@eqx.filter_jit
def nats(process, context, targets, y):
    law = process.predict(*context, *targets)
    return law.log_prob(y, targets[1]), law.marginal_log_prob(jnp.nan_to_num(y))


@pytest.mark.slow
def test_orders_and_padding_change_nothing(process):
    (xc, yc, one), (x, mask), y = problem(process)
    joint, each = nats(process, (xc, yc, one), (x, mask), y)
    turned = nats(process, (xc[::-1], yc[::-1], one), (x[::-1], mask), y[::-1])
    assert_allclose(turned[0], joint, atol=1e-9)
    assert_allclose(turned[1][::-1], each, atol=1e-9)

    def padded(v, value):
        return jnp.concatenate([v, jnp.full((2, *v.shape[1:]), value, v.dtype)])

    context = padded(xc, 0.3), padded(yc, 0.3), padded(one, 0.0)
    longer = nats(process, context, (padded(x, 0.7), padded(mask, 0.0)), padded(y, np.nan))
    assert_allclose(longer[0], joint, atol=1e-9)
    assert_allclose(longer[1][:3], each, atol=1e-9)
    empty = nats(process, (xc[:0], yc[:0], one[:0]), (x, mask), y)
    assert_allclose(empty[0], nats(process, (xc, yc, 0 * one), (x, mask), y)[0], atol=1e-9)
    assert abs(empty[0] - joint) > 1e-3


def test_density_of_one_target_integrates_to_one(process):
    context, (x, mask), _ = problem(process)
    law = process.predict(*context, x[:1], mask[:1])
    y = np.linspace(-8, 8, 321)
    values = jax.jit(jax.vmap(law.log_prob))(jnp.asarray(y)[:, None, None])
    assert_allclose(np.trapezoid(np.exp(values), y), 1.0, atol=5e-3)


def test_loss_ignores_points_that_are_neither_context_nor_targets(process):
    (x, y, _), _, _ = problem(process, context=5)
    context, targets = jnp.asarray([1.0, 0, 1, 0, 0]), jnp.asarray([0.0, 1, 0, 1, 0])
    one = process.function_loss(x, y, context, targets, key=jr.key(0))
    moved = x.at[4].set(9.0), y.at[4].set(9.0)
    other = process.function_loss(*moved, context, targets, key=jr.key(0))
    assert_allclose(one, other)
    assert one > 0


def test_marginals_need_a_key_and_densities_none(process):
    (xc, yc, _), (x, _), y = problem(process)
    law = process.condition(xc, yc)
    assert np.isfinite(law.log_prob(x, y))
    assert not law.exact_marginals
    with pytest.raises(ValueError, match="expected a key to estimate the moments of FlowNP"):
        law.mean(x)
    assert law.mean(x, key=jr.key(0)).shape == (3, 1)
