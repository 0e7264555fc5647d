r"""Moment-matching guidance: p(observations | y_t) as a Gaussian with Tweedie's moments.

Rozet et al. 2024 (MMPS), in the terms of u. With $\hat y_0(y)$ Tweedie's mean, J its Jacobian and
$C = (\sigma^2 / a) J K$ its covariance, observations with noise R have
$\log p \approx \log N(y_c; \hat y_{0,c}, C_{cc} + R)$, whose gradient adds
$\sigma K J_c^T (C_{cc} + R)^{-1} (y_c - \hat y_{0,c})$ to u. Exact for Gaussian data.
J enters by vector-Jacobian products: one per context coordinate, or a few dozen in
conjugate gradients for large contexts; never as a matrix. On a manifold the residual is the
velocity towards the observation, and all is done with tangent parts: right for small noise, a guide
for large.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.sparse.linalg import cg

from geomndp._arrays import bucket
from geomndp._types import Array, Float, Inputs, Mask, Outputs, Scalar
from geomndp.linalg import LOG_2PI, AbstractGram, zero_masked
from geomndp.noising import AbstractNoising
from geomndp.samplers.problem import Problem
from geomndp.solve import AbstractDynamics, ConditionalDynamics


class GuidanceTerms(NamedTuple):
    """Score with and without guidance.

    Attributes:
        u: Score (n, p) without guidance.
        guided: Score (n, p) with guidance.
        log_twist: Moment-matched log-density of the observations.
    """

    u: Outputs
    guided: Outputs
    log_twist: Scalar


class GuidedDynamics(AbstractDynamics):
    """Dynamics of all points of a problem, context first, under the guided score.

    Attributes:
        noising: Forward process.
        x: Inputs (m + n, d).
        mask: 1 for a real point, 0 for padding, shape (m + n,); None where all are real.
        base: The same points without guidance.
        limiting_gram: Covariance of the limiting law at all points.
        y: Observed values (m, p).
        noise: Variance of the observation noise per point, shape (m,).
        observed_mask: 1 for a real context point, 0 for padding, shape (m,), or None.
        dense: Whether linear systems are solved densely, else by conjugate gradients.
        iterations: Largest number of conjugate gradient iterations.
    """

    noising: AbstractNoising
    x: Inputs
    mask: Mask | None
    base: ConditionalDynamics
    limiting_gram: AbstractGram
    y: Float[Array, "m p"]
    noise: Float[Array, " m"]
    observed_mask: Float[Array, " m"] | None
    dense: bool = eqx.field(static=True)
    iterations: int = eqx.field(static=True)

    def u(self, t, y):
        return self._guided_by_cg(t, y) if not self.dense else self.guidance_terms(t, y).guided

    @property
    def evaluations(self) -> int:
        """Cost of one guided score: a forward pass and its vector-Jacobian products, two each."""
        # Conjugate gradients need one product to start; one more applies their result.
        products = self.y.size if self.dense else self.iterations + 2
        return 1 + 2 * products

    def _linearised(self, t: Scalar, y: Outputs):
        """Score, clean estimate at the observations, residual there, and the map v -> K J_c^T v."""
        m, manifold = len(self.y), self.noising.manifold

        def clean(y):
            u = self.base.u(t, y)
            return self.base.clean(t, y, u)[:m], u

        estimate, transpose, u = jax.vjp(clean, y, has_aux=True)

        def apply_kjt(v: Float[Array, "m p"]) -> Outputs:
            v = transpose(manifold.project(estimate, v))[0]
            return manifold.project(y, self.limiting_gram.mv(v))

        residual = zero_masked(manifold.log(estimate, self.y), self.observed_mask)
        return u, estimate, residual, apply_kjt

    def _floor(self, t: Scalar) -> Scalar:
        """Smallest variance of an estimate, of the order of its rounding error."""
        ratio = (self.noising.sigma(t) / self.noising.alpha(t)) ** 2
        largest = jnp.max(zero_masked(self.limiting_gram.diagonal(), self.mask))
        return jnp.finfo(self.y.dtype).eps ** 0.5 * ratio * largest

    def guidance_terms(self, t: Scalar, y: Outputs) -> GuidanceTerms:
        """Guided score, by one vector-Jacobian product per context coordinate.

        Args:
            t: Diffusion time.
            y: Noised values (m + n, p).

        Returns:
            Scores and the log-density of the observations.
        """
        u, estimate, residual, apply_kjt = self._linearised(t, y)
        a, sigma, size = self.noising.alpha(t), self.noising.sigma(t), self.y.size
        basis = jnp.eye(size, dtype=y.dtype).reshape(size, *self.y.shape)
        columns = jax.vmap(apply_kjt)(basis)
        here = jax.vmap(lambda v: self.noising.manifold.project(estimate, v))(
            columns[:, : len(self.y)]
        )
        covariance = sigma**2 / a * here.reshape(size, size)
        # The moments are matched at the present y: the covariance is not differentiated.
        covariance = jax.lax.stop_gradient((covariance + covariance.T) / 2)
        covariance = covariance + jnp.diag(jnp.repeat(self.noise, self.y.shape[1]))
        floor = self._floor(t)
        covariance, padding = self._without_padding(covariance, floor)
        values, vectors = jnp.linalg.eigh(covariance)
        values = jnp.maximum(values, floor)
        white = vectors.T @ residual.reshape(-1)
        guidance = jnp.tensordot(vectors @ (white / values), columns, 1)
        log_twist = -0.5 * (jnp.sum(white**2 / values + jnp.log(values) + LOG_2PI) - padding)
        return GuidanceTerms(u, u + sigma * guidance, log_twist)

    def _without_padding(self, covariance: Float[Array, "c c"], floor: Scalar):
        """Covariance without masked coordinates, and what they add to -2 times the log-density."""
        if self.observed_mask is None:
            return covariance, 0.0
        keep = jnp.repeat(self.observed_mask, self.y.shape[1]) > 0
        variance = jnp.maximum(floor, 1.0)  # of a masked coordinate, whose residual is zero
        apart = jnp.diag(jnp.where(keep, 0.0, variance))
        both = keep[:, None] & keep[None, :]
        masked = jnp.sum(jnp.where(keep, 0.0, jnp.log(variance) + LOG_2PI))
        return jnp.where(both, covariance, apart), masked

    def _guided_by_cg(self, t: Scalar, y: Outputs) -> Outputs:
        u, estimate, residual, apply_kjt = self._linearised(t, y)
        a, sigma, m = self.noising.alpha(t), self.noising.sigma(t), len(self.y)

        def apply(v):
            v = zero_masked(v, self.observed_mask)
            noise = (self.noise + self._floor(t))[:, None] * v
            here = self.noising.manifold.project(estimate, apply_kjt(v)[:m])
            return zero_masked(sigma**2 / a * here, self.observed_mask) + noise

        tolerance = float(jnp.finfo(y.dtype).eps) ** 0.5
        weights, _ = cg(apply, residual, tol=tolerance, maxiter=self.iterations)
        return u + sigma * apply_kjt(weights)


def guided_dynamics(
    problem: Problem, max_dense: int | None = 64, iterations: int = 30
) -> GuidedDynamics:
    """Guided dynamics of a problem.

    Args:
        problem: Targets and observations.
        max_dense: Number of context coordinates above which linear systems are solved by conjugate
            gradients, None for never. Counted after padding, so that padding changes nothing.
        iterations: Largest number of conjugate gradient iterations.

    Returns:
        Dynamics of all points, context first.
    """
    base, observations = problem.joint(), problem.observations
    size = bucket(len(observations.y)) * problem.noising.dim
    dense = max_dense is None or size <= max_dense
    return GuidedDynamics(
        noising=problem.noising,
        x=base.x,
        mask=base.mask,
        base=base,
        limiting_gram=base.gram(),
        y=observations.y,
        noise=observations.noise,
        observed_mask=observations.mask,
        dense=dense,
        iterations=iterations,
    )
