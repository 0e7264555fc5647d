"""Manifolds under test: a new one joins the list and inherits every check."""

from functools import partial

import jax
import jax.numpy as jnp

from geomndp.geometry import SO3, Euclidean, ProductManifold, Sphere, Torus

from ..cases import normal

COMPACT = {
    "circle": Sphere(1),
    "sphere": Sphere(2),
    "sphere-4": Sphere(4),
    "torus": Torus(3),
    "so3": SO3(),
    "product": ProductManifold((Sphere(2), Torus(1))),
}
MANIFOLDS = {"plane": Euclidean(2), **COMPACT, "mixed": ProductManifold((Euclidean(1), Sphere(2)))}


@partial(jax.jit, static_argnames=("manifold", "n", "dtype"))
def points(manifold, n, *, key, dtype=jnp.float64):
    """Random points."""
    return manifold.retract(normal(n, manifold.ambient_dim, key=key, dtype=dtype))


@partial(jax.jit, static_argnames=("manifold", "length"))
def tangents(manifold, y, length=1.0, *, key):
    """Random tangent vectors of about this length at points y."""
    v = manifold.project(y, normal(*y.shape, key=key, dtype=y.dtype))
    return length * v / jnp.linalg.norm(v, axis=-1, keepdims=True)


@partial(jax.jit, static_argnames="manifold")
def opposite(manifold, y):
    """Points on the cut locus of y."""
    if isinstance(manifold, ProductManifold):
        parts = zip(manifold.factors, manifold.split(y), strict=True)
        return jnp.concatenate([opposite(f, part) for f, part in parts], axis=-1)
    if isinstance(manifold, SO3):
        turn = jnp.diag(jnp.asarray([1.0, -1.0, -1.0], dtype=y.dtype))
        return (y.reshape(-1, 3, 3) @ turn).reshape(-1, 9)
    return y if isinstance(manifold, Euclidean) else -y
