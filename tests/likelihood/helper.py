"""Gaussian data whose log-density the flow must find, and the flow in one compiled call."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp import kernels, noising, score, solve
from geomndp.gp import GP
from geomndp.likelihood import Flow

SE, White = kernels.SquaredExponential, kernels.White
EPS = 5e-4
SCHEDULE = noising.LinearSchedule(0.0, 10.0)
CONVERGED = Flow(steps=64)
TO_THE_GP = Flow(steps=64, terminal="exact")

# Data of the 1D regression protocol.
DATA = {
    "se": GP(SE(0.25), noise=0.05**2),
    "matern": GP(kernels.Matern52(0.25), noise=0.05**2),
    "weakly-periodic": GP(SE(0.5) * kernels.Periodic(0.25, 1.0), noise=0.05**2),
}
LIMITS = {
    "white": White(),
    "se-1": SE(1.0) + White(0.05),
    "se-0.1": SE(0.1) + White(0.05),
    "periodic": kernels.Periodic(1.0, 1.0) + White(0.05),
}


def ou(limit: str = "white") -> noising.OrnsteinUhlenbeck:
    """Noising to one of the limiting kernels."""
    return noising.OrnsteinUhlenbeck(LIMITS[limit], SCHEDULE)


@eqx.filter_jit
def draw(gp: GP, functions: int = 6, n: int = 30, *, key):
    """Random functions at random points in [-2, 2]: (functions, n, 1) inputs and outputs."""

    def one(key):
        x_key, y_key = jr.split(key)
        x = jr.uniform(x_key, (n, 1), minval=-2.0, maxval=2.0)
        return x, gp.sample(x, key=y_key)

    return jax.vmap(one)(jr.split(key, functions))


@eqx.filter_jit
def sample(gp: GP, x, *, key):
    """One function at x."""
    return gp.sample(x, key=key)


@eqx.filter_jit
def truth(gp, x, y):
    """Log-density of one function, or of a batch of them, under the process itself."""
    return gp.log_prob(x, y) if x.ndim == 2 else jax.vmap(gp.log_prob)(x, y)


def _batch(flow, law, gp_score, x, y):
    def one(x, y):
        return flow.log_prob(solve.ConditionalDynamics(law, gp_score, x), y, EPS)

    return jax.vmap(one)(x, y)


@eqx.filter_jit
def batch(flow, law, gp_score, x, y):
    """Log-densities of a batch of functions, with their errors."""
    return _batch(flow, law, gp_score, x, y)


@eqx.filter_jit
def batch_values(flow, law, gp_score, x, y):
    """The log-densities alone: the second solve is then not even compiled."""
    return _batch(flow, law, gp_score, x, y).value


@eqx.filter_jit
def value(flow, dynamics, y, key=None):
    """Log-density of one function."""
    return flow.log_prob(dynamics, y, EPS, key=key).value


def gaussian(data: str = "se") -> score.GaussianScore:
    """Exact score of one of the data sets."""
    return score.GaussianScore(DATA[data])


def per_point(a, b) -> float:
    """Mean absolute difference, in nats per point, of batches of functions of 30 points."""
    return float(jnp.mean(jnp.abs(a - b)) / 30)
