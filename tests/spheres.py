"""The sphere's oracle, for all tests: a mixture of heat kernels around moving centres."""

from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np

from geomndp.geometry import Sphere
from geomndp.noising import Brownian, LinearSchedule
from geomndp.score import HeatMixtureScore

SPHERE = Sphere(2)
NOISING = Brownian(SPHERE, LinearSchedule(1e-4, 15.0))
EPS = 5e-4
_AXES = np.random.default_rng(0).normal(size=(3, 2, 3))


BROAD = (0.3, 0.2, 0.4)


def centres(x):
    """Three curves on the sphere."""
    a, b = (jnp.asarray(_AXES[:, i, None, :], dtype=x.dtype) for i in range(2))
    return SPHERE.retract(a + jnp.sin(2 * x[None, :, :1]) * b)


@cache  # one object: what was compiled for it is found again
def oracle(spreads=BROAD) -> HeatMixtureScore:
    """Score of the mixture."""
    return HeatMixtureScore(centres, spreads, (0.5, 0.3, 0.2))


@partial(jax.jit, static_argnums=0)
def truth(score, t, x, y):
    """Log-density of the noised law."""
    return score.log_prob(NOISING, t, x, y)


def drawn(x, *, key):
    """Values from the mixture."""
    return jax.jit(oracle().sample, static_argnums=0)(NOISING, x, key=key)


def between(x, shares=(0.45, 0.2, 0.35)):
    """Values that leave it open which component they come from."""
    return SPHERE.retract(jnp.tensordot(jnp.asarray(shares), centres(x), 1))
