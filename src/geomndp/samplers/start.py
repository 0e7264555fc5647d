r"""Start of a reverse pass: the law at time one from few evaluations of the score.

The law at time one is not the limiting law $N(m, K)$. With Gaussian data of covariance C it is

$$Y_1 \sim N(m + e,\; a^2 C + \sigma^2 K) = N(m + e,\; \sigma^2 K Q^{-\top}), \qquad
Q = \sigma^2 K (a^2 C + \sigma^2 K)^{-1},$$

and the score there is $\sigma u(y) = -Q (y - m - e)$. Where C is not small against
$\sigma^2 K / a^2$, as in the largest modes of functions with many points per lengthscale, samples
that start from the limiting law lose variance and a part of the mean, which a flow never regains.
By Tweedie's formula $1 - Q$ is a times the Jacobian of $E[y_0 \mid y]$: differences of the score
apply it. With $d = \sigma u(m) = Q e$ and white noise of the limiting law $\xi$ the start is

$$m - d + \sum_{k=0}^{n} c_k (1 - Q)^k (\sigma \xi + 2 d),$$

where c are the coefficients of $q^{-1/2}$ in powers of $1 - q$, the last of them larger: the
variance is exact at $q = 1/2$ for n = 2 and at $q = 1/3$ for n = 3, too small beyond. The factor of
the mean, $2 q^{1/2} - q$ as n grows, differs from one to second order in $1 - q$.
"""

import math

import jax
import jax.numpy as jnp

from geomndp._types import Array, Outputs
from geomndp.linalg import AbstractGram
from geomndp.solve import AbstractDynamics

TERMS = 3
COEFFICIENTS = (
    (1.0,),
    (1.0, 1 / 2),
    (1.0, 1 / 2, 4 * (math.sqrt(2) - 5 / 4)),
    (1.0, 1 / 2, 3 / 8, 27 / 8 * (math.sqrt(3) - 3 / 2)),
)
"""c of the series with 0, 1, 2 and 3 terms."""


def start(dynamics: AbstractDynamics, root: AbstractGram, z: Outputs, terms: int = TERMS):
    r"""Draw from about the law at time one.

    On a manifold from the limiting law, which is uniform and reached far better.

    Args:
        dynamics: Free points and their score.
        root: Root of the limiting covariance there.
        z: White noise (n, p).
        terms: Terms n of the series, 0 to 3; 0 draws from $N(m + \sigma u(m), K)$.

    Returns:
        Values (n, p).
    """
    if not dynamics.noising.flat:
        return dynamics.noising.limit_from_noise(dynamics.x, root.mv(z))
    m, xi = dynamics.mean(), root.mv(z)
    one = jnp.ones((), dtype=m.dtype)
    sigma = dynamics.noising.sigma(one)
    if terms == 0:
        return m + sigma * dynamics.u(one, m) + xi

    def step(state: tuple[Array, ...], k: Array):
        base, before, w, y = state
        u = dynamics.u(one, base + w)
        # First at the mean, then along the noise, then away from a point with noise: where the
        # score is known best.
        w_next = jnp.where(k == 0, sigma * (xi + 2 * u), w + sigma * (u - before))
        y = y + jnp.asarray(coefficients, y.dtype)[k] * w_next - jnp.where(k == 0, sigma * u, 0)
        base, before = jnp.where(k == 1, base + w, base), jnp.where(k <= 1, u, before)
        return (base, before, w_next, y), None

    coefficients = COEFFICIENTS[terms]
    zeros = jnp.zeros_like(xi)
    (_, _, _, y), _ = jax.lax.scan(
        step, (m + zeros, zeros, zeros, m + zeros), jnp.arange(terms + 1)
    )
    return y


def start_evaluations(dynamics: AbstractDynamics, terms: int = TERMS) -> int:
    """Score evaluations of `start`."""
    return 1 + terms if dynamics.noising.flat else 0
