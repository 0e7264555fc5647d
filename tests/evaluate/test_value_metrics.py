"""Closed forms of the CRPS against each other and against samples; padded targets."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from jax.scipy.stats import norm
from numpy.testing import assert_allclose

import geomndp as gn
from geomndp import ChartModel, MixtureProcess, Model
from geomndp.data import LocalFrame, LogTransform, Normaliser, StartDensity
from geomndp.evaluate.ensemble import crps
from geomndp.evaluate.value_metrics import draw, gaussian_crps, quantile_crps, value_metrics
from geomndp.kernels import Diagonal, White
from geomndp.marginals import MixtureMarginals
from geomndp.nets import RelativeAttention
from geomndp.noising import LinearSchedule, OrnsteinUhlenbeck
from geomndp.predictive import AbstractPredictive
from geomndp.samplers import Amortised
from geomndp.score import NetworkScore

GP = gn.gp.GP(gn.kernels.SquaredExponential(0.5), noise=0.1)
Z = jnp.linspace(-3.0, 3.0, 7)


class OfOne(AbstractPredictive):
    """A mixture of one law: exact, without a closed form of its CRPS."""

    law: AbstractPredictive

    @property
    def exact_marginals(self):
        return True

    def marginals(self, x, *, key=None, num_samples=0):
        return MixtureMarginals((self.law.marginals(x),), jnp.zeros(1))

    def sample(self, x, *, key, num_samples):
        raise AssertionError("no samples are needed")

    def log_prob_info(self, x, y, *, key=None, mask=None):
        return self.law.log_prob_info(x, y, key=key, mask=mask)


def test_crps_of_a_normal_law_by_samples_and_by_quantiles():
    exact = gaussian_crps(Z)
    samples = jr.normal(jr.key(0), (100_000, 1))
    assert_allclose(exact, crps(jnp.broadcast_to(samples, (100_000, 7)), Z), atol=0.01)
    levels = (jnp.arange(20_000.0) + 0.5) / 20_000
    quantiles = jnp.broadcast_to(norm.ppf(levels)[:, None], (20_000, 7))
    assert_allclose(exact, quantile_crps(quantiles, levels, Z), atol=2e-4)


def test_quantiles_stand_for_the_closed_form():
    x = jnp.linspace(-1.0, 1.0, 4)[:, None]
    y = jax.jit(GP.sample)(x, key=jr.key(1))
    law = GP.condition(x[:1], y[:1])
    options = {"key": jr.key(0), "num_samples": 2}
    metrics = eqx.filter_jit(value_metrics)
    exact, mixed = (metrics(each, x, y, **options) for each in (law, OfOne(law)))
    assert_allclose(exact.mean, mixed.mean, atol=1e-6)
    assert_allclose(exact.pit, mixed.pit, atol=1e-9)
    assert_allclose(exact.crps, mixed.crps, rtol=5e-3)


def test_the_mean_of_a_skew_law_has_its_tail():
    """Of a log-normal law quantiles up to 99.5% miss a twentieth of the mean."""
    units = Normaliser(transform=LogTransform())
    law = gn.ProcessModel(gn.gp.GP(gn.kernels.SquaredExponential(0.5), noise=1.25), units)
    x, y = jnp.zeros((1, 1)), jnp.ones((1, 1))
    found = value_metrics(law.condition(x[:0], y[:0]), x, y, key=jr.key(0), num_samples=2)
    assert_allclose(found.mean, np.exp(2.25 / 2), rtol=1e-6)


@pytest.mark.parametrize(
    "kind",
    ["track", pytest.param("track without context", marks=pytest.mark.slow), "mixture"],
)
def test_metrics_of_learnt_laws_do_not_see_padded_targets(kind):
    """Real targets are predicted as without padding, whatever the padding is."""
    net = RelativeAttention(2, 2, width=8, num_layers=1, num_heads=2, key=jr.key(0))
    rough = jax.tree.map(lambda leaf: leaf + 0.1 if eqx.is_array(leaf) else leaf, net)
    noising = OrnsteinUhlenbeck(Diagonal(White(), 2), LinearSchedule(0.0, 10.0))
    flat = Model(noising, NetworkScore(rough, conditional=True))
    x = jnp.asarray([[0.0, 0.3], [0.5, 0.3], [1.0, 0.3], [1.5, 0.3]])
    y = jnp.asarray([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8], [0.0, 1.0]])
    model = MixtureProcess((flat,))
    if kind != "mixture":
        x, y = x[:, :1], jnp.concatenate([y, jnp.zeros((4, 1))], axis=1)
        model = ChartModel(flat, LocalFrame(), StartDensity.fit(np.asarray(y), axial=True))
    law = model.condition() if kind.endswith("without context") else model.condition(x[:1], y[:1])
    mask = jnp.asarray([1.0, 1.0, 0.0])
    options = {"key": jr.key(0), "num_samples": 3, "sampler": Amortised(2)}
    found = [
        draw(law, jnp.concatenate([x[1:3], x[3:] * factor]), mask, **options)[:, :2]
        for factor in (1.0, 1.1)
    ]
    assert_allclose(*found, rtol=1e-6)
