"""Losses of distillation: zero for exact flow maps, their gradient where students differ."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from geomndp import distillation, geometry, kernels, nets, noising, score
from geomndp._types import Batch
from geomndp.distillation.energy_score import Given, energy_score
from geomndp.gp import GP

from ..cases import quick
from ..flow_maps import GaussianFlowMap, SolvedFlowMap
from ..nets.test_target_times import NETS, process, trained

SCHEDULE = noising.LinearSchedule(0.0, 10.0)
DATA = GP(kernels.SquaredExponential(0.25), noise=0.05**2)
FLAT = noising.OrnsteinUhlenbeck(kernels.White(1.5), SCHEDULE)


class HalfWay(GaussianFlowMap):
    """A flow map that is wrong: it goes half the way."""

    def flow_map(self, noising, t, s, x, y, mask=None):
        return 0.5 * (y + super().flow_map(noising, t, s, x, y, mask))


def functions(key, num=3, n=4):
    """Functions with a context of one point, and padding."""
    x = jr.uniform(key, (num, n, 1), minval=-1.0)
    y = jax.vmap(lambda x, key: DATA.sample(x, key=key))(x, jr.split(key, num))
    mask = jnp.ones((num, n)).at[0, 3].set(0.0)
    return Batch(x, y, mask, jnp.zeros((num, n)).at[:, 0].set(1.0))


def test_exact_map_of_gaussian_data_has_no_loss():
    # Fixed keys: where all times are close to their targets, half the way is little.
    batch, key = functions(jr.key(0)), jr.key(1)
    loss = distillation.LagrangianLoss(score.GaussianScore(DATA))

    def both(batch, key):
        maps = (GaussianFlowMap(DATA), HalfWay(DATA))
        return [loss(flow_map, FLAT, batch, key=key)[0] for flow_map in maps]

    exact, wrong = quick(both)(batch, key)
    assert exact < 1e-12
    assert wrong > 1e-3


@pytest.mark.slow
def test_exact_map_on_the_sphere_has_no_loss(getkey):
    sphere = geometry.Sphere(2)
    law = score.HeatMixtureScore(
        lambda x: jnp.stack([sphere.retract(jnp.ones((len(x), 3), x.dtype))]), (0.05,), (1.0,)
    )
    process = noising.Brownian(sphere, noising.LinearSchedule(1e-3, 3.0))
    x = jnp.zeros((2, 3, 1))
    y = sphere.uniform(6, key=getkey()).reshape(2, 3, 3)
    batch = Batch(x, y, jnp.ones((2, 3)), jnp.zeros((2, 3)).at[:, 0].set(1.0))
    times = distillation.TimePairs(start_share=0.0)
    loss = distillation.LagrangianLoss(law, 1e-2, times)
    value, info = quick(lambda key: loss(SolvedFlowMap(law), process, batch, key=key))(getkey())
    assert value < 1e-4
    assert np.all(info.times >= 1e-2)


def test_pairs_lead_both_ways_and_start_at_the_ends(getkey):
    t, s = distillation.TimePairs()(FLAT, 4096, 1e-3, jnp.float64, key=getkey())
    assert t.min() >= 1e-3 and s.min() >= 1e-3 and max(t.max(), s.max()) <= 1
    upward = np.asarray(s > t)
    np.testing.assert_allclose(upward.mean(), 0.2, atol=0.04)
    np.testing.assert_allclose((t[~upward] == 1).mean(), 0.5, atol=0.05)
    np.testing.assert_allclose((t[upward] <= 1.001e-3).mean(), 0.5, atol=0.1)


def test_angles_and_times_are_inverse():
    t = jnp.linspace(0.01, 1.0, 5)
    np.testing.assert_allclose(score.time_of_angle(FLAT, score.flow_angle(FLAT, t)), t)
    slope = jax.vmap(jax.grad(lambda t: score.flow_angle(FLAT, t)))(t)
    np.testing.assert_allclose(score.time_per_angle(FLAT, t) * slope, 1.0)


def test_energy_score_is_least_for_the_truth(getkey):
    y = jr.normal(getkey(), (512, 3, 1))
    mask = jnp.asarray([1.0, 1.0, 0.0])

    @quick
    def mean_score(y, samples):
        def one(y, samples):
            given = Given(FLAT, jnp.zeros((3, 1)), y, jnp.zeros(3), mask, mask)
            return energy_score(given, mask[None, :, None] * samples)

        return jnp.mean(jax.vmap(one)(y, samples))

    samples = jr.normal(getkey(), (512, 8, 3, 1))
    best = mean_score(y, samples)
    assert best < mean_score(y, 0.5 * samples)
    assert best < mean_score(y, samples + 0.7)


@pytest.mark.parametrize(
    "options", [{"calls": ()}, {"calls": (0,)}, {"num_samples": 1}, {"energy_weight": -1.0}]
)
def test_energy_score_refuses_options(options):
    base = distillation.TrajectoryLoss(score.GaussianScore(DATA))
    with pytest.raises(ValueError, match="expected"):
        distillation.EnergyScoreLoss(base, **options)


@pytest.mark.parametrize("kind", [distillation.LagrangianLoss, distillation.TrajectoryLoss])
def test_refuses_known_noise(kind, getkey):
    batch = functions(getkey())._replace(noise=jnp.ones((3, 4)))
    loss = kind(score.GaussianScore(DATA))
    with pytest.raises(ValueError, match="without known noise"):
        loss(GaussianFlowMap(DATA), FLAT, batch, key=getkey())


@pytest.mark.slow
@pytest.mark.parametrize("kind", [distillation.LagrangianLoss, distillation.TrajectoryLoss])
@pytest.mark.parametrize("name", NETS)
def test_gradients_of_every_network_are_finite(name, kind, getkey):
    """Both losses, with padding and a clean context, of the networks that can be students."""
    net = trained(name)
    law, parametrisation = process(net)
    teacher = score.NetworkScore(net, parametrisation, conditional=True)
    student = nets.extend_network(net, key=jr.key(0), target_times=True)
    x = jr.normal(getkey(), (2, 4, net.input_dim), jnp.float32)
    y = law.manifold.retract(jr.normal(getkey(), (2, 4, net.output_dim), jnp.float32))
    mask = jnp.ones((2, 4), jnp.float32).at[0, 3].set(0.0)
    context = jnp.zeros((2, 4), jnp.float32).at[:, 0].set(1.0)
    base = kind(teacher, 1e-3)
    loss = distillation.EnergyScoreLoss(base, calls=(2,), num_samples=2)
    params, static = eqx.partition(student, eqx.is_inexact_array)

    def value(params, key):
        learner = score.NetworkScore(eqx.combine(params, static), parametrisation, conditional=True)
        return loss(learner, law, Batch(x, y, mask, context), key=key)[0]

    total, gradient = quick(jax.value_and_grad(value))(params, getkey())
    assert np.isfinite(total)
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(gradient))
    assert np.any(np.asarray(gradient.target_time.outer.weight))
