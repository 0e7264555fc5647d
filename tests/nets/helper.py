"""The networks that every check runs on; a new one joins the list."""

import functools
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import nets

from ..cases import quick, random

TINY = {"width": 8, "num_layers": 2, "num_heads": 2}
NETS = {
    "absolute": (nets.BiDimensionalAttention, {}),
    "points": (
        nets.BiDimensionalAttention,
        {"token_axis": "points", "num_frequencies": 2, "pre_norm": True},
    ),
    "centred": (nets.BiDimensionalAttention, {"inputs": "centred"}),
    "relative": (nets.RelativeAttention, {"bias_width": 8, "num_frequencies": 4}),
}
INVARIANT = [name for name in NETS if name not in ("absolute", "points")]
DTYPES = ("float32", "float64")
TOLERANCE = {"float32": 2e-5, "float64": 1e-12}


class Function(NamedTuple):
    """One function with its times."""

    t: jax.Array
    x: jax.Array
    y: jax.Array
    mask: jax.Array


@quick
def run(net, *function):
    """Apply a network; those of one configuration share a compilation."""
    return net(*function)


@quick
def gradients(net, function):
    """Of the squared outputs, in the parameters and in (t, x, y, mask)."""

    def loss(net, function):
        return jnp.sum(net(*function) ** 2)

    return jax.grad(loss, argnums=(0, 1))(net, function)


def fresh(name, d=2, p=1, dtype="float64", **options):
    """A new network, as its constructor leaves it."""
    cls, own = NETS[name]
    return cls(d, p, **TINY | own | options, dtype=dtype, key=jr.key(0))


def randomised(shapes, *, key):
    """A tree of shapes, filled at random."""
    rng = random(key)

    def fill(leaf):
        return jnp.asarray(0.4 * rng.standard_normal(leaf.shape), leaf.dtype)

    return jax.tree.map(fill, shapes)


def awake(name, *, key, **options):
    """All parameters drawn at random, so that the zero-initialised output says something."""
    return randomised(shapes_of(name, **options), key=key)


@functools.cache
def shapes_of(name, **options):
    """A new network without values."""
    return eqx.filter_eval_shape(fresh, name, **options)


def draw(n=7, d=2, p=1, *, key, dtype="float64", masked=2):
    """A function whose inputs are multiples of 1/1024, exact in float32 also after a shift.

    The first point sits at time zero, the last ones are masked.
    """
    rng = random(key)
    values = (
        np.append(0.0, rng.uniform(size=n - 1)),
        rng.integers(-2048, 2048, size=(n, d)) / 1024,
        rng.standard_normal((n, p)),
        np.arange(n) < n - masked,
    )
    return Function(*(jnp.asarray(value, dtype) for value in values))
