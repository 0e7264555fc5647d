"""Fits by selection against laws that are known: what is chosen, and how good it is.

Time is that of the processor: a busy machine changes nothing.
"""

import time

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import xarray as xr
from scipy.special import logsumexp

from geomndp import build, evaluate, fit
from geomndp._types import Batch
from geomndp.auto import clock
from geomndp.gp import GP
from geomndp.kernels import Matern52, SquaredExponential

pytestmark = pytest.mark.slow
X = np.linspace(0.0, 4.0, 16)
NUM_CONTEXT = 5


@pytest.fixture(autouse=True)
def processor_time(monkeypatch):
    """One processor's seconds."""
    monkeypatch.setattr(clock, "now", time.process_time)


def _draws(gp: GP, count: int, seed: int) -> np.ndarray:
    keys = jr.split(jr.key(seed), count)
    return np.asarray(jax.vmap(lambda key: gp.sample(jnp.asarray(X)[:, None], key=key))(keys))


def _fit(y: np.ndarray, minutes: float):
    table = xr.Dataset({"y": (("function", "x"), y[..., 0])}, {"x": X})
    return fit(build(table, symmetry="none"), minutes=minutes, key=0, quiet=True)


def _order(count: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    return np.stack([rng.permutation(len(X)) for _ in range(count)])


def _nats(model, y: np.ndarray) -> np.ndarray:
    """Nats per target value of fresh functions given some of their values."""
    order = _order(len(y))
    x = X[order][..., None]
    y = np.take_along_axis(y, order[..., None], axis=1)
    context = np.broadcast_to(np.arange(len(X)) < NUM_CONTEXT, order.shape).astype(float)
    arrays = (jnp.asarray(values) for values in (x, y, np.ones(order.shape), context))
    tasks = Batch(*arrays)
    result = evaluate.log_likelihood(model, tasks, num_context=NUM_CONTEXT, key=jr.key(0))
    return np.asarray(result.value) / (len(X) - NUM_CONTEXT)


def _exact(gp: GP, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Log-densities of all values and of the context, by NumPy alone."""
    with jax.enable_x64(True):
        mean, covariance = gp.mean_and_covariance(jnp.asarray(X)[:, None])
        mean, covariance = np.asarray(mean)[:, 0], np.asarray(covariance)
    values = []
    for size in (len(X), NUM_CONTEXT):
        nats = []
        for row, order in zip(y[..., 0], _order(len(y)), strict=True):
            index = order[:size]
            part = covariance[np.ix_(index, index)]
            rest = row[index] - mean[index]
            logdet = np.linalg.slogdet(2 * np.pi * part)[1]
            nats.append(-0.5 * (rest @ np.linalg.solve(part, rest) + logdet))
        values.append(np.array(nats))
    return values[0], values[1]


def test_twenty_functions_of_a_gaussian_process_are_given_one():
    law = GP(SquaredExponential(0.8, 2.0), noise=0.05)
    model, report = _fit(_draws(law, 20, 0), minutes=1.0)
    assert all(not name.startswith(("network", "corrected")) for name, _ in report.chosen)
    fresh = _draws(law, 200, 1)
    joint, context = _exact(law, fresh)
    regret = (joint - context) / (len(X) - NUM_CONTEXT) - _nats(model, fresh)
    assert regret.mean() < 0.05 + 2 * regret.std() / np.sqrt(len(regret))


def test_a_mixture_of_two_processes_is_not_worse_than_its_best_gaussian_law():
    """The best Gaussian law has the covariance of the mixture."""
    laws = [GP(SquaredExponential(1.5, 1.0), noise=0.02), GP(Matern52(0.3, 1.0), noise=0.02)]
    y = np.concatenate([_draws(law, 100, seed) for seed, law in enumerate(laws)])
    y = y[np.random.default_rng(0).permutation(len(y))]
    model, _ = _fit(y, minutes=3.0)
    fresh = np.concatenate([_draws(law, 50, 10 + seed) for seed, law in enumerate(laws)])
    gaussian = GP(0.5 * SquaredExponential(1.5, 1.0) + 0.5 * Matern52(0.3, 1.0), noise=0.02)
    joint, context = _exact(gaussian, fresh)
    difference = _nats(model, fresh) - (joint - context) / (len(X) - NUM_CONTEXT)
    assert difference.mean() > -0.03
    parts = [_exact(law, fresh) for law in laws]
    truth = logsumexp([p[0] for p in parts], axis=0) - logsumexp([p[1] for p in parts], axis=0)
    assert difference.mean() < np.mean(truth - (joint - context)) / (len(X) - NUM_CONTEXT) + 0.05


def test_many_sawtooths_are_given_a_network():
    """Jumps at random places: far from any Gaussian law."""
    rng = np.random.default_rng(0)
    y = (X[None] / 2.0 + rng.uniform(size=(2000, 1))) % 1.0 + 0.02 * rng.normal(size=(2000, 16))
    model, report = _fit(y[..., None], minutes=4.0)
    names = [name for name, _ in report.chosen]
    assert any(name.startswith(("network", "corrected")) for name in names)
    best = max(r.nats for r in report.candidates if not r.name.startswith(("network", "corr")))
    assert report.nats > best + 0.3
    assert model is not None
