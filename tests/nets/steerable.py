"""The equivariant networks that every check of symmetry runs on; a new one joins the list."""

import functools

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import nets

from ..cases import random
from .helper import Function, randomised

PLANE = {"channels": 4, "width": 8, "num_layers": 2, "num_radial": 4, "radius": 1.3}
SPACE = {
    "hidden": "2x0e+1x0o+1x1e+2x1o",
    "width": 8,
    "num_layers": 1,
    "num_radial": 4,
    "radius": 1.3,
    "max_neighbours": 40,
}
STEERABLE = {
    "plane-vector": (nets.Steerable2, {**PLANE}),
    "plane-tensor": (
        nets.Steerable2,
        {**PLANE, "representations": ("scalar", "tensor"), "num_pooling_widths": 2},
    ),
    "plane-angular": (
        nets.Steerable2,
        {**PLANE, "representations": ("vector", "scalar"), "num_pooling_widths": 2}
        | {"angular_pooling": True},
    ),
    "plane-density": (
        nets.Steerable2,
        {**PLANE, "num_pooling_widths": 2, "density_features": True},
    ),
    "plane-attention": (
        nets.Steerable2,
        {**PLANE, "representations": ("symmetric", "pseudoscalar", "vector"), "num_heads": 2},
    ),
    "plane-side": (
        nets.Steerable2,
        {**PLANE, "representations": ("pseudovector",), "num_invariant_inputs": 1},
    ),
    "plane-periodic-side": (
        nets.Steerable2,
        {**PLANE, "num_invariant_inputs": 2, "periods": (0.0, 0.0, 0.0, 1.5)},
    ),
    "space-side": (
        nets.Steerable3,
        {**SPACE, "num_invariant_inputs": 2, "periods": (0.0, 0.0, 0.0, 0.0, 1.5)},
    ),
    "space-vector": (nets.Steerable3, {**SPACE}),
    "space-tensor": (nets.Steerable3, {**SPACE, "representations": ("pseudoscalar", "symmetric")}),
    "embedded-plane": (
        nets.Steerable3,
        {**SPACE, "representations": ("scalar", "vector"), "space": 2},
    ),
}


def fresh(name, dtype="float64", **options):
    """A new network, as its constructor leaves it."""
    cls, own = STEERABLE[name]
    return cls(**own | options, dtype=dtype, key=jr.key(0))


def awake(name, *, key, **options):
    """All parameters drawn at random, so that the zero-initialised output says something."""
    return randomised(shapes_of(name, **options), key=key)


@functools.cache
def shapes_of(name, **options):
    """A new network without values."""
    return eqx.filter_eval_shape(fresh, name, **options)


def draw(net, *, key, grid=False, masked=2, n=None):
    """Values at n random locations within reach of each other, or on a regular grid of as many."""
    rng, d = random(key), net.field_type.dim
    side = 3 if d == 3 else 5
    n = side**d if n is None else n
    if grid:
        axis = np.arange(side) * 0.6
        x = np.stack(np.meshgrid(*[axis] * d), axis=-1).reshape(-1, d)
    else:
        x = rng.uniform(-1.2, 1.2, size=(n, d))
    n = len(x)
    x = np.concatenate([x, rng.standard_normal((n, net.input_dim - d))], axis=1)
    t, y = np.append(0.0, rng.uniform(size=n - 1)), rng.standard_normal((n, net.output_dim))
    mask = np.arange(n) < n - masked
    return Function(*(jnp.asarray(value, net.config.dtype) for value in (t, x, y, mask)))
