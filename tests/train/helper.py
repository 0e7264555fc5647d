"""A network that compiles in a second, a generator of one function, and the parts of a tiny run."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp import data, kernels, noising, score, train
from geomndp._types import Batch

NOISING = noising.OrnsteinUhlenbeck(kernels.White(1.0025), noising.LinearSchedule(0.0, 10.0))


class TinyNet(eqx.Module):
    """An MLP on each point, which model_settings sees the mean of the values."""

    mlp: eqx.nn.MLP

    def __init__(self, width=8, depth=2, *, key, dtype=None, activation=jax.nn.silu):
        self.mlp = eqx.nn.MLP(4, 1, width, depth, activation=activation, dtype=dtype, key=key)

    def __call__(self, t, x, y, mask):
        mean = jnp.sum(y * mask[:, None], axis=0) / jnp.sum(mask)
        mean = jnp.broadcast_to(mean, y.shape)
        features = jnp.concatenate([t[:, None], x, y, mean], axis=1)
        return mask[:, None] * jax.vmap(self.mlp)(features)


class TinyGenerator(data.AbstractGenerator):
    """Functions that cost nothing to draw: a random constant with noise."""

    batch_size: int = eqx.field(default=8, static=True)
    contexts: data.ContextSampler | None = data.ContextSampler()
    dtype: str | None = eqx.field(default=None, static=True)

    def draw(self, key):
        x_key, y_key, noise_key, points_key, context_key = jr.split(key, 5)
        shape = (self.batch_size, 6, 1)
        dtype = jnp.dtype(self.dtype or jnp.result_type(float))
        x = jr.uniform(x_key, shape, dtype)
        level = jr.normal(y_key, (self.batch_size, 1, 1), dtype)
        y = jnp.broadcast_to(level, shape) + 0.1 * jr.normal(noise_key, shape, dtype)
        points = jr.randint(points_key, shape[:1], 1, 7, jnp.int32)
        return Batch(x, y, *data.context_mask(points, 6, self.contexts, dtype, key=context_key))


def tiny_score(key=None, dtype=None, **options):
    key = jr.key(0) if key is None else key
    return score.NetworkScore(TinyNet(key=key, dtype=dtype, **options))


def tiny_run(directory=None, steps=40, **options):
    """Train the tiny network; returns (score, history)."""
    defaults = {"chunk": 5, "checkpoint_every": 10, "key": jr.key(1), "quiet": True}
    options = {**defaults, "optimiser": train.adam(40), **options}
    generator = options.pop("generator", TinyGenerator())
    start = options.pop("score", tiny_score())
    return train.fit_score(start, NOISING, generator, steps=steps, directory=directory, **options)


def parameters(trained):
    return jax.tree.leaves(eqx.filter(trained, eqx.is_array))
