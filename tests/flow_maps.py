"""Exact flow maps, oracles of students: of Gaussian data in closed form, of others by a solve."""

import equinox as eqx
import jax
import jax.numpy as jnp

from geomndp import score, solve
from geomndp.gp import GP
from geomndp.linalg import per_point, zero_masked


class GaussianFlowMap(score.AbstractScore):
    r"""Score of Gaussian data that knows its flow map.

    Given the points that stay, the others have a law $N(\mu_t, P_t)$ with
    $P_t = a^2 \Sigma + \sigma^2 K$. In coordinates that whiten K all $P_t$ commute, the flow is
    linear, and the map keeps the whitened residuals: their eigenvalues go from $\lambda_t$ to
    $\lambda_s$.
    """

    gp: GP
    conditional = True
    pads = True
    has_flow_map = True

    @property
    def exact(self) -> score.GaussianScore:
        return score.GaussianScore(self.gp)

    def __call__(self, noising, t, x, y, mask=None):
        return self.exact(noising, t, x, y, mask)

    def log_prob(self, noising, t, x, y, mask=None):
        return self.exact.log_prob(noising, t, x, y, mask)

    def flow_map(self, noising, t, s, x, y, mask=None):
        n, p = y.shape
        t, s = per_point(t, n), per_point(s, n)
        real = jnp.ones(n, y.dtype) if mask is None else mask
        free = jnp.repeat(jnp.where(t != s, real, 0.0), p)
        fixed = jnp.repeat(jnp.where(t == s, real, 0.0), p)
        limit = noising.gram(x).dense()
        root = jnp.linalg.cholesky(free[:, None] * limit * free[None] + jnp.diag(1 - free))

        def law(times):
            mean, gram = self.exact.law(noising, times, x)
            mean, matrix = mean.reshape(-1), gram.dense()
            among = fixed[:, None] * matrix * fixed[None] + jnp.diag(1 - fixed)
            gain = jnp.linalg.solve(among, fixed[:, None] * matrix * free[None]).T
            residual = jnp.where(fixed > 0, y.reshape(-1) - mean, 0.0)
            rest = free[:, None] * matrix * free[None] - gain @ (fixed[:, None] * matrix)
            rest = rest * free[None] + jnp.diag(1 - free)
            white = jax.scipy.linalg.solve_triangular(root, rest, lower=True)
            white = jax.scipy.linalg.solve_triangular(root, white.T, lower=True)
            return mean + gain @ residual, 0.5 * (white + white.T)

        (before, first), (after, last) = law(t), law(s)
        values, vectors = jnp.linalg.eigh(first)
        ratio = jnp.sqrt(jnp.diag(vectors.T @ last @ vectors) / values)
        residual = jnp.where(free > 0, y.reshape(-1) - before, 0.0)
        white = jax.scipy.linalg.solve_triangular(root, residual, lower=True)
        moved = after + root @ (vectors @ (ratio * (vectors.T @ white)))
        values = jnp.where(free > 0, moved, y.reshape(-1)).reshape(n, p)
        return zero_masked(values, mask)


class SolvedFlowMap(score.AbstractScore):
    """Any exact score, with its flow map by many steps of RK4: all free points at one time."""

    score: score.AbstractScore
    steps: int = eqx.field(default=24, static=True)
    conditional = True
    has_flow_map = True

    def __call__(self, noising, t, x, y, mask=None):
        return self.score(noising, t, x, y, mask)

    def flow_map(self, noising, t, s, x, y, mask=None):
        n = len(x)
        t, s = per_point(t, n), per_point(s, n)
        free = t != s
        start, end = (jnp.sqrt(jnp.where(free, times, 1.0)) for times in (t, s))

        def velocity(share, y):  # by the share of the way in the roots of the times
            root = start + share * (end - start)
            times, rate = jnp.where(free, root**2, t), 2 * root * (end - start)
            u = self.score(noising, times, x, y, mask)
            sigma = jnp.where(free, noising.sigma(times), 1.0)
            drift = noising.mean_reversion(x, y) - u / sigma[:, None]
            dydt = 0.5 * noising.schedule.beta(times)[:, None] * drift
            return jnp.where(free[:, None], rate[:, None] * dydt, 0.0)

        shares = jnp.linspace(0.0, 1.0, self.steps + 1, dtype=y.dtype)
        moved, _ = solve.RK4().integrate(velocity, shares, y, noising.manifold.retract)
        return zero_masked(moved, mask)
