"""Brownian noising: the heat kernel at its own time for every point, with its exact score."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import eval_legendre

from geomndp.geometry import SO3, Euclidean, Sphere, Torus, heat_kernel
from geomndp.noising import Brownian, LinearSchedule

from ..cases import DTYPES, inputs

SPHERE = Brownian(Sphere(2), LinearSchedule(1e-4, 15.0))
N = 5


def test_points_move_by_their_own_times():
    """Legendre polynomials of the cosine of the angle have mean exp(-l (l + 1) s / 2)."""
    t, draws = jnp.asarray([0.0, 5e-4, 0.05, 0.3, 1.0]), 4000
    x = inputs(N, key=jr.key(0))
    y0 = SPHERE.prior_sample(x, key=jr.key(1))
    noised = jax.jit(jax.vmap(lambda key: SPHERE.perturb(t, x, y0, key=key)))(
        jr.split(jr.key(2), draws)
    )
    assert_allclose(noised.y[:, 0], np.broadcast_to(y0[0], (draws, 3)), atol=1e-12)
    s = np.asarray(SPHERE.schedule.integral(t))
    cosine = np.sum(np.asarray(noised.y) * np.asarray(y0), axis=-1)
    for degree in (1, 2):
        mean = np.mean(eval_legendre(degree, cosine), axis=0)
        assert_allclose(mean, np.exp(-degree * (degree + 1) * s / 2), atol=4 / np.sqrt(draws))


def test_target_is_the_exact_score():
    t, x = jnp.asarray([0.0, 5e-4, 0.05, 0.3, 1.0]), inputs(N, key=jr.key(0))
    y0 = SPHERE.prior_sample(x, key=jr.key(1))
    y, xi, _ = jax.jit(SPHERE.perturb)(t, x, y0, key=jr.key(2))
    assert_allclose(xi[0], np.zeros(3))
    assert_allclose(jnp.sum(xi * y, axis=1), np.zeros(N), atol=1e-10)
    s = SPHERE.schedule.integral(t)
    score = heat_kernel(Sphere(2)).score(s[1:], y0[1:], y[1:])
    assert_allclose(-xi[1:], SPHERE.sigma(t[1:])[:, None] * score, rtol=1e-12)


MANIFOLDS = {"sphere": Sphere(2), "so3": SO3(), "torus": Torus(2)}
FAST = ("sphere-float32", "so3-float64", "torus-float32")


@pytest.mark.parametrize(
    ("manifold", "dtype"),
    [
        pytest.param(manifold, dtype, id=id_, marks=() if id_ in FAST else pytest.mark.slow)
        for name, manifold in MANIFOLDS.items()
        for dtype in DTYPES
        for id_ in [f"{name}-{jnp.dtype(dtype)}"]
    ],
)
def test_masked_rows_are_zero_and_all_is_finite(manifold, dtype, getkey):
    noising = Brownian(manifold, SPHERE.schedule)
    x, mask = inputs(N, key=getkey(), dtype=dtype), jnp.asarray([1, 1, 0, 1, 0], dtype=dtype)
    y0 = noising.prior_sample(x, key=getkey()) * mask[:, None]
    t = jnp.asarray([0.0, 1e-5, 0.1, 1.0, 1.0], dtype=dtype)

    def loss(y0):
        noised = noising.perturb(t, x, y0, key=jr.key(0), mask=mask)
        return jnp.sum(noised.xi) + jnp.sum(noised.y), noised

    gradient, noised = jax.jit(jax.grad(loss, has_aux=True))(y0)
    for value in (gradient, *noised):
        assert value.dtype == dtype and np.all(np.isfinite(value))
    assert not np.any(noised.y[mask == 0]) and not np.any(noised.xi[mask == 0])
    kept = noised.y[mask > 0]
    assert_allclose(manifold.retract(kept), kept, atol=1e-5)
    volume = noising.prior_log_prob(x, noised.y, mask)
    assert_allclose(volume, -3 * manifold.log_volume, rtol=1e-6)


def test_moves_compose():
    """Noise for one time and then another is noise for their sum, in law: first harmonics."""
    draws, x = 4000, jnp.zeros((4000, 1))
    y0 = jnp.broadcast_to(jnp.asarray([0.0, 0.0, 1.0]), (draws, 3))
    keys = jr.split(jr.key(0), 2)
    y = SPHERE.transition(jnp.asarray(0.4), x, y0, jr.normal(keys[0], y0.shape))
    y = SPHERE.transition(jnp.asarray(0.2), x, y, jr.normal(keys[1], y0.shape))
    assert abs(np.mean(y[:, 2]) - np.exp(-0.6)) < 4 / np.sqrt(draws)


def test_walks_where_there_is_no_closed_form():
    noising = Brownian(Sphere(3), LinearSchedule(0.0, 2.0), walk=20)
    x, draws = jnp.zeros((4000, 1)), 4000
    y0 = jnp.broadcast_to(jnp.asarray([0.0, 0.0, 0.0, 1.0]), (draws, 4))
    y = jax.jit(lambda key: noising.diffuse(jnp.asarray(0.7), x, y0, key=key))(jr.key(0))
    assert abs(np.mean(y[:, 3]) - np.exp(-1.5 * 0.49)) < 4 / np.sqrt(draws) + 0.02
    with pytest.raises(ValueError, match="heat kernel in closed form"):
        noising.perturb(jnp.asarray(0.7), x, y0, key=jr.key(0))


def test_flat_space_is_refused():
    with pytest.raises(ValueError, match="expected a compact manifold"):
        Brownian(Euclidean(2), LinearSchedule(0.0, 1.0))


def test_a_walk_has_one_step_or_more():
    assert Brownian(Sphere(2), SPHERE.schedule, walk=1).walk == 1
    with pytest.raises(ValueError, match="expected walk to be a whole number >= 1, got 0"):
        Brownian(Sphere(2), SPHERE.schedule, walk=0)
