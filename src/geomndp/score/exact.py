r"""Exact scores: data from a Gaussian process, and from a finite mixture of them.

With $Y_0 \sim GP(m_0, K_0)$ the noised law is Gaussian, $N(A m_0 + (1 - A) m, A K_0 A + D K D)$,
so $u = -K D [A K_0 A + D K D]^{-1} (Y - mean)$, for times that may differ by point.
"""

from __future__ import annotations

import abc
from collections.abc import Iterable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from geomndp import _validation
from geomndp._types import Array, Float, Outputs, Scalar
from geomndp.gp import AbstractGP
from geomndp.linalg import AbstractGram, columns, per_point, row_mask, zero_masked
from geomndp.score.base import AbstractScore


class GaussianScore(AbstractScore):
    """Score of data drawn from a Gaussian process.

    Args:
        gp: The process of the clean values.

    Example:
        `gn.score.GaussianScore(gn.gp.GP(gn.kernels.SquaredExponential(0.25)))`
    """

    gp: AbstractGP
    conditional = True
    pads = True

    @property
    def num_groups(self) -> int:
        """Every output may be observed apart."""
        return self.gp.dim

    def law(self, noising, t, x) -> tuple[Outputs, AbstractGram]:
        """Mean A m_0 + (1 - A) m and covariance A K_0 A + D K D of the noised values.

        Args:
            noising: Forward process.
            t: Diffusion times, a scalar, (n,) or (n, g).
            x: Inputs (n, d).
        """
        t = per_point(t, len(x))
        a, sigma, m = noising.alpha(t), noising.sigma(t), noising.mean_at(x)
        mean = m + columns(a, self.gp.dim) * (self.gp.mean_at(x) - m)
        return mean, self.gp.gram(x).scale(a) + noising.gram(x).scale(sigma)

    def _residual(self, noising, t, x, y, mask) -> tuple[Outputs, AbstractGram]:
        mean, gram = self.law(noising, t, zero_masked(x, row_mask(mask)))
        return zero_masked(y - mean, mask), gram.masked(mask)

    def _check(self, noising, x, y, mask):
        _validation.shapes(x, y, dim=self.gp.dim, mask=mask)
        if noising.dim != self.gp.dim:
            dims = f"{noising.dim} for the noising and {self.gp.dim} for the data"
            raise ValueError(f"expected as many outputs, got {dims}")

    def __call__(self, noising, t, x, y, mask=None):
        self._check(noising, x, y, mask)
        residual, gram = self._residual(noising, t, x, y, mask)
        sigma = columns(noising.sigma(per_point(t, len(x))), self.gp.dim)
        limiting = noising.gram(zero_masked(x, row_mask(mask)), mask)
        return zero_masked(limiting.mv(-sigma * gram.solve(residual)), mask)

    def log_prob(self, noising, t, x, y, mask=None) -> Scalar:
        """Log-density of the noised law in nats; arguments as those of a call."""
        self._check(noising, x, y, mask)
        residual, gram = self._residual(noising, t, x, y, mask)
        return gram.log_density(residual, mask)


class AbstractMixtureScore(AbstractScore):
    """Score of data drawn from one of several laws, picked at random."""

    weights: eqx.AbstractVar[tuple[float, ...]]

    @abc.abstractmethod
    def _log_joint(self, noising, t, x, y, mask) -> Float[Array, " k"]:
        """Log-density of the noised values and of the pick, of every law."""

    def responsibilities(self, noising, t, x, y, mask=None) -> Float[Array, " k"]:
        """Probability of every law given the noised values; arguments as those of a call."""
        return jax.nn.softmax(self._log_joint(noising, t, x, y, mask))

    def log_prob(self, noising, t, x, y, mask=None) -> Scalar:
        """Log-density of the noised law in nats; arguments as those of a call."""
        return jax.scipy.special.logsumexp(self._log_joint(noising, t, x, y, mask))


def as_weights(weights: Iterable[float] | None, num: int) -> tuple[float, ...]:
    """Weights of so many laws, equal by default, refused unless they are probabilities."""
    weights = tuple(map(float, [1 / num] * num if weights is None else weights))
    if len(weights) != num or min(weights) <= 0 or not np.isclose(sum(weights), 1):
        raise ValueError(f"expected {num} positive weights that sum to 1, got {weights}")
    return weights


class MixtureScore(AbstractMixtureScore):
    """Score of data drawn from one of several Gaussian processes, picked at random.

    u = sum_k w_k u_k, with w_k the probability of the k-th process given Y.

    Args:
        gps: The processes.
        weights: Their probabilities; equal by default.

    Raises:
        ValueError: Unless there are processes, with positive weights that sum to 1.
    """

    scores: tuple[GaussianScore, ...]
    weights: tuple[float, ...] = eqx.field(static=True)
    conditional = True
    pads = True

    def __init__(self, gps, weights=None):
        gps = tuple(gps)
        if not gps:
            raise ValueError("expected at least one process, got none")
        self.scores = tuple(GaussianScore(gp) for gp in gps)
        self.weights = as_weights(weights, len(gps))

    @property
    def num_groups(self) -> int:
        """Every output may be observed apart."""
        return self.scores[0].num_groups

    def _log_joint(self, noising, t, x, y, mask):
        log_probs = [score.log_prob(noising, t, x, y, mask) for score in self.scores]
        return jnp.stack(log_probs) + jnp.log(jnp.asarray(self.weights, dtype=y.dtype))

    def __call__(self, noising, t, x, y, mask=None):
        w = self.responsibilities(noising, t, x, y, mask)
        u = jnp.stack([score(noising, t, x, y, mask) for score in self.scores])
        return jnp.sum(w[:, None, None] * u, axis=0)
