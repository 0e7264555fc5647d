"""Requests inside `jit`, and requests of wrong or hidden inputs: the same answer, or a sentence."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp import ProcessModel
from geomndp.gp import GP
from geomndp.kernels import Diagonal, ShrunkCovariance, SquaredExponential, White
from geomndp.likelihood import Flow
from geomndp.model import Model
from geomndp.nets import with_capacity
from geomndp.nets.graph_network import MOST_TRACED
from geomndp.noising import LinearSchedule, OrnsteinUhlenbeck
from geomndp.samplers import Amortised
from geomndp.score import NetworkScore
from geomndp.solve import Heun

from ..nets.steerable import awake

SAMPLER = Amortised(2)


@pytest.fixture(scope="module")
def model():
    """A graph network with room for few neighbours, and with parameters."""
    net = awake("plane-vector", key=jr.key(0), dtype="float32")
    noising = OrnsteinUhlenbeck(Diagonal(White(), 2), LinearSchedule(1e-4, 15.0))
    return Model(noising, NetworkScore(net, conditional=True))


@pytest.mark.parametrize("noise", [0.0, pytest.param(0.01, marks=pytest.mark.slow)])
def test_crowded_observations_are_all_seen_inside_jit(model, noise):
    most = model.score.net.config.max_neighbours
    x = np.zeros((most + 9, 2), np.float32)
    y = np.asarray(jr.normal(jr.key(1), x.shape), np.float32)
    posterior = model.condition(x, y, noise=noise)
    at = np.full((2, 2), 0.1, np.float32)

    def draw(key):
        return posterior.sample(at, key=key, num_samples=1, sampler=SAMPLER)

    assert_allclose(jax.jit(draw)(jr.key(2)), draw(jr.key(2)), rtol=1e-3, atol=1e-4)


def test_too_many_traced_points_are_refused(model):
    points = jnp.zeros((MOST_TRACED + 1, 2), jnp.float32)
    with pytest.raises(ValueError, match="inside jit or vmap, got 1025"):
        jax.eval_shape(lambda x: with_capacity(model.score.net, x) and x, points)


@pytest.mark.parametrize("columns", [1, 3])
def test_inputs_of_other_dimension_are_refused(model, columns):
    x = np.zeros((3, columns), np.float32)
    with pytest.raises(ValueError, match=f"expected x of 2 columns, got {columns}"):
        model.condition(x, np.zeros((3, 2), np.float32))
    with pytest.raises(ValueError, match=f"expected x of 2 columns, got {columns}"):
        model.sample(x, key=0)


def test_hidden_rows_may_hold_anything(model):
    x, y = (np.asarray(jr.normal(jr.key(seed), (4, 2)), np.float32) for seed in (3, 4))
    mask = np.array([1, 1, 0, 1])
    posterior, flow = model.condition(x[:1] + 0.5, y[:1]), Flow(Heun(), 2)
    expected = posterior.log_prob_info(x[mask > 0], y[mask > 0], flow=flow).value
    x[2], y[2] = np.nan, np.inf
    found = posterior.log_prob_info(x, y, mask=mask, flow=flow).value
    assert float(found) == pytest.approx(float(expected), abs=1e-3)


def test_draws_of_a_shrunk_covariance_in_a_compiled_program():
    x, kernel = np.linspace(0, 1, 40)[:, None], SquaredExponential(0.3)
    with jax.enable_x64(True):
        covariance = np.asarray(kernel.gram(jnp.asarray(x)).dense()) + 1e-4 * np.eye(40)
    shrunk = ShrunkCovariance.fit(kernel, x, covariance, 0.3, 1e-4)
    model = ProcessModel(GP(shrunk, noise=0.3e-4))
    targets = jnp.linspace(0.0, 1.2, 50, dtype=jnp.float32)[:, None]
    draw = jax.jit(lambda x: model.sample(x, key=0, num_samples=500))
    assert_allclose(np.std(draw(targets), axis=0), model.std(targets), rtol=0.15)


def test_processes_have_gradients_in_a_program_of_32_bits():
    model = ProcessModel(GP(SquaredExponential(0.5), noise=0.1))
    x, y = np.arange(3.0)[:, None], np.asarray([[0.3], [-0.2], [0.5]])

    def value(x, noise):
        posterior = model.condition(x, y, noise=noise)
        return posterior.log_prob(x + 0.3, y) + posterior.std(x + 0.3).sum()

    with jax.enable_x64(False):
        found = jax.grad(value, (0, 1))(jnp.asarray(x, jnp.float32), 0.2)
    expected = jax.grad(value, (0, 1))(jnp.asarray(x), 0.2)
    assert found[0].dtype == np.float32
    for one, other in zip(found, expected, strict=True):
        assert_allclose(one, other, rtol=1e-4)


def test_patches_are_refused_inside_jit():
    process = ProcessModel(GP(SquaredExponential(0.5), noise=0.1))
    x, y, match = np.arange(4.0), np.ones(4), "expected numbers for patches, got values that JAX"
    with pytest.raises(ValueError, match=match):
        jax.jit(lambda k: process.condition(x, y).sample(x, key=k, patches="auto"))(jr.key(0))
    with pytest.raises(ValueError, match=match):
        jax.jit(lambda v: process.condition(x, v).sample(x, key=0, patches="auto"))(jnp.ones(4))
    with pytest.raises(ValueError, match=match):
        jax.jit(lambda v: process.condition(x, y).log_prob(x, v, patches="auto"))(jnp.ones(4))


def test_no_targets_ask_nothing_of_a_process(monkeypatch):
    """Roll-outs and latent fields have no first target then."""
    monkeypatch.setattr("geomndp.model.process_posterior.call", None)
    posterior = ProcessModel(GP(SquaredExponential(0.5), noise=0.1)).condition(np.zeros(1), [1.0])
    assert posterior.sample(np.zeros((0, 1)), key=0, num_samples=3).shape == (3, 0, 1)
