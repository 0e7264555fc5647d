"""Points and kernels on the unit sphere for tests: poles, antipodes and coincident points too."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp.kernels import (
    Diagonal,
    SphereCurlFree,
    SphereDivergenceFree,
    White,
    ZonalExponential,
    ZonalHeat,
    ZonalMatern,
)

ZONAL = {
    "exponential": ZonalExponential(0.4, 1.5),
    "matern": ZonalMatern(2.5, 0.4, 1.5, num_terms=64),
    "heat": ZonalHeat(0.3, 1.5, num_terms=32),
}
POTENTIAL = ZonalExponential(0.4)
TANGENT = {
    "curl-free": SphereCurlFree(POTENTIAL, 1.5),
    "divergence-free": SphereDivergenceFree(POTENTIAL, 1.5),
    "matern": SphereCurlFree(ZonalMatern(2.5, 0.4, num_terms=64), 1.5),
    "hodge": SphereCurlFree(POTENTIAL, 0.5)
    + SphereDivergenceFree(ZonalExponential(0.3), 1.0)
    + Diagonal(White(0.1), 2),
}
POLES = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]])


def unit_vectors(n, *, key, dtype=jnp.float64):
    """Uniformly random points."""
    z = jr.normal(key, (n, 3), dtype=jnp.float64)
    return (z / jnp.linalg.norm(z, axis=1, keepdims=True)).astype(dtype)


def awkward_points(*, key, dtype=jnp.float64):
    """Poles, a point twice, its antipode, one beside it and one beside its antipode: seven."""
    x = np.asarray(unit_vectors(1, key=key))
    tangent = np.cross(x, POLES[:1])
    near = x + 1e-7 * tangent
    near /= np.linalg.norm(near)
    return jnp.asarray(np.concatenate([POLES, x, x, -x, near, -near]), dtype)
