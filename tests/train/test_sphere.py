"""Losses on the sphere: the exact score minimises both, and training finds it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from geomndp import Model
from geomndp._types import Batch
from geomndp.geometry import Exact, Hutchinson, Sphere
from geomndp.noising import Brownian, LinearSchedule
from geomndp.score import NetworkScore, PreconditionK
from geomndp.train import DenoisingLoss

from ..spheres import NOISING, SPHERE, oracle

B, N = 1500, 2


@jax.jit
def batch(key):
    """Draws of the mixture, half of them with a context."""
    x_key, y_key = jr.split(key)
    x = jr.uniform(x_key, (B, N, 1), minval=-1.0, maxval=1.0)
    y = jax.vmap(lambda x, key: oracle().sample(NOISING, x, key=key))(x, jr.split(y_key, B))
    context = jnp.zeros((B, N)).at[::2, 0].set(1.0)
    return Batch(x, y, jnp.ones((B, N)), context)


def stretched(score, factor):
    """A learnt score that is `factor` times the exact one."""

    def net(t, x, y, mask):
        sigma = NOISING.sigma(t)[:, None]
        safe = jnp.where(sigma > 0, sigma, 1.0)
        u = score(NOISING, t, x, SPHERE.retract(y), mask)
        return factor * jnp.where(sigma > 0, u * (sigma + 1e-3) / safe, 0.0)

    return NetworkScore(net, PreconditionK())


LOSSES = {
    "denoising": DenoisingLoss(t_min=0.05),
    "implicit": DenoisingLoss(t_min=0.05, implicit=Exact()),
    "implicit-probes": DenoisingLoss(t_min=0.05, implicit=Hutchinson(2)),
}
# Probes leave the mean of a divergence as it is: tested with the divergences themselves.
CASES = ["denoising", "implicit", pytest.param("implicit-probes", marks=pytest.mark.slow)]


@pytest.mark.parametrize("name", CASES)
def test_exact_score_is_the_minimum(name):
    """The slope in the direction of the score itself is zero, within four standard errors."""
    score = oracle()
    data, loss = batch(jr.key(0)), LOSSES[name]

    @jax.jit
    def slopes(factor):
        def losses(factor):
            return loss(stretched(score, factor), NOISING, data, key=jr.key(1))[1].losses

        return jax.jvp(losses, (factor,), (jnp.ones(()),))[1]

    at_one, below = (np.asarray(slopes(jnp.asarray(f))) for f in (1.0, 0.5))
    error = np.std(at_one) / np.sqrt(B)
    assert abs(np.mean(at_one)) < 4 * error
    assert np.mean(below) < -2.5 * error


class Pointwise(eqx.Module):
    """A network that sees one point at a time."""

    mlp: eqx.nn.MLP

    def __call__(self, t, x, y, mask):
        return jax.vmap(self.mlp)(jnp.concatenate([t[:, None], y], axis=1))


# Of the closed form the minimum is tested above.
MANIFOLDS = [pytest.param(Sphere(2), marks=pytest.mark.slow), Sphere(3)]


@pytest.mark.parametrize("manifold", MANIFOLDS, ids=["closed-form", "walk"])
def test_training_lowers_the_loss(manifold):
    """A few steps of a tiny network, with a target or, where there is none, without."""
    import geomndp as gn

    noising = Brownian(manifold, LinearSchedule(1e-2, 6.0), walk=10)
    p = manifold.ambient_dim
    net = Pointwise(eqx.nn.MLP(1 + p, p, 16, 1, activation=jax.nn.silu, key=jr.key(0)))
    model = Model(noising, NetworkScore(net, PreconditionK()), t_min=0.01)
    y = manifold.retract(jnp.eye(p)[None, :1] + 0.2 * jr.normal(jr.key(1), (64, 3, p)))
    data = Batch(jnp.zeros((64, 3, 1)), y, jnp.ones((64, 3)), jnp.zeros((64, 3)))
    implicit = None if manifold.d == 2 else Hutchinson(1)
    loss = DenoisingLoss(t_min=0.01, implicit=implicit)
    trained, history = gn.fit(model, data, steps=60, key=jr.key(2), loss=loss, quiet=True)
    assert history.loss[-1] < history.loss[0]
    assert trained.score.conditional
