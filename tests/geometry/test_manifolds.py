"""Identities of every manifold: coincident points, points on the cut locus, both precisions."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.geometry import SO3, Euclidean, ProductManifold, Sphere, Torus

from ..cases import DTYPES, normal, rotation, slow_but
from .helper import COMPACT, MANIFOLDS, opposite, points, tangents

N = 7
every = pytest.mark.parametrize("manifold", MANIFOLDS.values(), ids=MANIFOLDS)
compact = pytest.mark.parametrize("manifold", COMPACT.values(), ids=COMPACT)
NAMES = ["float64", "float32"]


def mostly(fast):
    """Both precisions, one of them among the fast tests."""
    return pytest.mark.parametrize("dtype", slow_but((fast,), DTYPES), ids=NAMES)


def tolerance(dtype):
    return 1e-12 if dtype == jnp.float64 else 1e-5


@every
@mostly(jnp.float64)
def test_log_inverts_exp(manifold, dtype, getkey):
    lengths = jnp.asarray([0.0, 1e-6, 1e-2, 1.0, 3.0], dtype=dtype)
    y = points(manifold, len(lengths), key=getkey(), dtype=dtype)
    v = lengths[:, None] * tangents(manifold, y, key=getkey())

    @jax.jit
    def there_and_back(y, v):
        z = manifold.exp(y, v)
        return z, manifold.retract(z), manifold.log(y, z), manifold.distance(y, z)

    z, retracted, back, apart = there_and_back(y, v)
    bound = tolerance(dtype)
    assert z.dtype == dtype
    assert_allclose(retracted, z, atol=bound)
    assert_allclose(back, v, atol=30 * bound)
    assert_allclose(apart, lengths, atol=30 * bound)


def pairs(manifold, dtype, getkey):
    """Points with others: anywhere, the same, on the cut locus, and near that."""
    y, other = (points(manifold, N, key=getkey(), dtype=dtype) for _ in range(2))
    across = opposite(manifold, y)
    near = jax.jit(manifold.exp)(across, tangents(manifold, across, 1e-4, key=getkey()))
    return tuple(map(np.concatenate, ([y, y, y, y], [other, y, across, near])))


@every
@mostly(jnp.float64)
def test_exp_inverts_log_everywhere(manifold, dtype, getkey):
    y, z = pairs(manifold, dtype, getkey)
    v, apart, back, tangent = jax.jit(
        lambda y, z: (
            v := manifold.log(y, z),
            manifold.distance(y, z),
            manifold.exp(y, v),
            manifold.project(y, v),
        )
    )(y, z)
    assert_allclose(back, z, atol=200 * tolerance(dtype))
    assert_allclose(tangent, v, atol=10 * tolerance(dtype))
    assert_allclose(np.linalg.norm(v, axis=-1), apart, atol=10 * tolerance(dtype))
    assert_allclose(apart[N : 2 * N], np.zeros(N), atol=tolerance(dtype) ** 0.5 / 10)


@every
@mostly(jnp.float32)
def test_gradients_are_finite_at_zero_and_at_the_cut_locus(manifold, dtype, getkey):
    y, z = pairs(manifold, dtype, getkey)

    def everything(y, z):
        nothing = jnp.zeros_like(y)
        moved = manifold.exp(y, nothing) + manifold.exp(z, y - y) + manifold.retract(nothing)
        return jnp.sum(manifold.distance(y, z)) + jnp.sum(manifold.log(y, z) + moved)

    gradients = jax.jit(jax.grad(everything, argnums=(0, 1)))(y, z)
    assert np.all(np.isfinite(gradients))


@every
def test_basis_is_orthonormal_and_tangent(manifold, getkey):
    y = points(manifold, N, key=getkey())
    if isinstance(manifold, Sphere):  # the pole of the reflection, and the one across
        y = y.at[0].set(jnp.eye(manifold.ambient_dim)[-1]).at[1].set(-y[0])
    v = normal(*y.shape, key=getkey())
    basis, found, embedded = jax.jit(
        lambda y, v: (
            manifold.basis(y),
            manifold.project(y, v),
            manifold.from_tangent_coords(y, manifold.to_tangent_coords(y, v)),
        )
    )(y, v)
    gram = np.einsum("nip,njp->nij", basis, basis)
    assert_allclose(gram, np.broadcast_to(np.eye(manifold.dim), gram.shape), atol=1e-13)
    projected = np.einsum("nki,nkj,nj->ni", basis, basis, v)
    assert_allclose(found, projected, atol=1e-13)
    assert_allclose(embedded, projected, atol=1e-13)


@every
def test_geodesics_are_straight(manifold, getkey):
    """The acceleration in R^p has no tangent part, and the speed is constant."""
    y = points(manifold, N, key=getkey())
    v = tangents(manifold, y, key=getkey())

    def path(t):
        return manifold.exp(y, t * v)

    @jax.jit
    def moving(t):
        velocity = jax.jacfwd(path)
        return velocity(t), manifold.project(path(t), jax.jacfwd(velocity)(t))

    velocity, acceleration = moving(jnp.asarray(0.7))
    assert_allclose(np.linalg.norm(velocity, axis=-1), np.ones(N), atol=1e-12)
    assert_allclose(acceleration, np.zeros(y.shape), atol=1e-11)


@compact
def test_volume_and_uniform_law(manifold, getkey):
    """Volume from the share of uniform draws near a point, against that of a small flat ball."""
    radius, draws = 0.35, 200_000

    @jax.jit
    def drawn(key):
        y = manifold.uniform(draws, key=key, dtype=jnp.float64)
        return y, manifold.distance(jnp.broadcast_to(y[:1], y.shape), y)

    y, distance = drawn(getkey())
    share = np.mean(np.asarray(distance) < radius)
    k = manifold.dim
    ball = np.pi ** (k / 2) / math.gamma(k / 2 + 1) * radius**k
    error = 4 / np.sqrt(draws * share)
    assert abs(share * manifold.volume / ball - 1) < error + 0.04  # curvature: below 4 percent
    assert_allclose(np.mean(y, axis=0), np.zeros(manifold.ambient_dim), atol=5 / np.sqrt(draws))


def test_rotations_act_as_isometries(getkey):
    q, r = rotation(3, key=getkey()), rotation(3, key=getkey())
    a, b = (points(Sphere(2), N, key=getkey()) for _ in range(2))
    assert_allclose(Sphere(2).log(a @ q.T, b @ q.T), Sphere(2).log(a, b) @ q.T, atol=1e-13)
    a, b = (points(SO3(), N, key=getkey()).reshape(N, 3, 3) for _ in range(2))

    def distance(a, b):
        return SO3().distance(a.reshape(N, 9), b.reshape(N, 9))

    assert_allclose(distance(q @ a @ r, q @ b @ r), distance(a, b), atol=1e-13)


def test_bad_input_is_refused(getkey):
    for wrong in (lambda: Sphere(0), lambda: Torus(0), lambda: Euclidean(0)):
        with pytest.raises(ValueError, match="d to be a whole number >= 1, got 0"):
            wrong()
    with pytest.raises(ValueError, match="at least one factor"):
        ProductManifold(())
    with pytest.raises(ValueError, match="a compact manifold"):
        MANIFOLDS["mixed"].uniform(3, key=getkey())
    y = points(Sphere(2), N, key=getkey()).at[3].multiply(1.01).at[5].set(0.0)
    with pytest.raises(ValueError, match="y on Sphere, got points off it in rows 3, 5"):
        Sphere(2).check("y", y)
    mask = jnp.ones(N).at[jnp.asarray([3, 5])].set(0.0)
    Sphere(2).check("y", y, mask)
