"""The Frechet mean."""

import jax.numpy as jnp
import jax.random as jr
from numpy.testing import assert_allclose

from geomndp.geometry import Sphere, Torus, frechet_mean

from .helper import points


def test_frechet_mean_is_a_stationary_point(getkey):
    for manifold in (Sphere(2), Torus(2)):
        centre = points(manifold, 4, key=getkey())
        noise = 0.3 * jr.normal(getkey(), (9, *centre.shape))
        samples = manifold.exp(
            jnp.broadcast_to(centre, noise.shape), manifold.project(centre[None], noise)
        )
        mean = frechet_mean(manifold, samples, iterations=40)
        steps = manifold.log(jnp.broadcast_to(mean, samples.shape), samples)
        assert_allclose(jnp.mean(steps, axis=0), 0, atol=1e-10)
