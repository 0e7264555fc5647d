r"""Law of the targets as the flow of a velocity gives it: samples and densities by its solution.

$\log p(y) = \log N(y_1; 0, I) + \int_{t_0}^1 \mathrm{div}\, v(t, y_t) \mathrm{d}t +
n p \log(1 - t_0)$ along $dy/dt = v$ from $y_{t_0} = (1 - t_0) y$: the law of values with noise of
standard deviation $t_0 / (1 - t_0)$. The error of a density is estimated from a second solve with
half as many steps.
"""

from __future__ import annotations

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp._types import Array, Float, Inputs, Mask, Outputs, PRNGKeyArray, Scalar
from geomndp.baselines.neural_processes.predictions import AbstractPrediction
from geomndp.geometry import Exact
from geomndp.linalg import zero_masked
from geomndp.marginals import SampleMarginals
from geomndp.predictive import MOMENT_SAMPLES, LogProb
from geomndp.solve import RK4

ORDER = 4  # of RK4


class FlowPrediction(AbstractPrediction):
    """Law of targets whose noise flows to them.

    Attributes:
        process: What has the `velocity` of the targets, as `FlowNP` does.
        xc: Context inputs, shape (c, d).
        yc: Context values, shape (c, p).
        context_mask: 1 for real context points, shape (c,).
        x: Target inputs, shape (n, d).
        mask: 1 for real targets, shape (n,).
        key: Random key of the samples that stand for marginal laws; None where none are asked for.
        steps: Steps of the solver.
        min_std: Standard deviation of the noise that values have at the end of the flow.
    """

    process: Any
    xc: Float[Array, "c d"]
    yc: Float[Array, "c p"]
    context_mask: Float[Array, " c"]
    x: Inputs
    mask: Float[Array, " n"]
    key: PRNGKeyArray | None
    steps: int = eqx.field(static=True)
    min_std: float = eqx.field(static=True)

    def _velocity(self, t: Scalar, y: Outputs, mask: Mask) -> Outputs:
        context = self.xc, self.yc, self.context_mask
        return self.process.velocity(t, *context, self.x, y, mask)

    def _times(self, steps: int) -> Float[Array, " m"]:
        """From data to noise, denser near the data."""
        share = jnp.linspace(0.0, 1.0, steps + 1, dtype=self.x.dtype)
        return self._end + (1 - self._end) * share**2

    @property
    def _end(self) -> float:
        """Time t_0 at which the flow ends."""
        return self.min_std / (1 + self.min_std)

    def sample(self, *, key: PRNGKeyArray, num_samples: int) -> Float[Array, "s n p"]:
        def one(key: PRNGKeyArray) -> Outputs:
            noise = jr.normal(key, (len(self.x), self.yc.shape[1]), self.x.dtype)
            field = lambda t, y: self._velocity(t, y, self.mask)  # noqa: E731
            ends, _ = RK4().integrate(field, self._times(self.steps)[::-1], noise)
            return ends / (1 - self._end)

        return jax.vmap(one)(jr.split(key, num_samples))

    def log_prob(self, y: Outputs, mask: Mask | None = None) -> Scalar:
        return self._solve(y, self._real(mask), self.steps)[0]

    def log_prob_info(self, y: Outputs, mask: Mask | None = None) -> LogProb:
        """Joint log-density, with the error of the solve."""
        real, coarser = self._real(mask), self.steps // 2
        (value, first), (coarse, second) = (
            self._solve(y, real, steps) for steps in (self.steps, coarser)
        )
        error = jnp.abs(value - coarse) / ((self.steps / coarser) ** ORDER - 1)
        return LogProb(value, error, jnp.zeros_like(value), first + second)

    def _real(self, mask: Mask | None) -> Float[Array, " n"]:
        return self.mask if mask is None else self.mask * mask.astype(self.mask.dtype)

    def _solve(self, y: Outputs, mask: Mask, steps: int) -> tuple[Scalar, Array]:
        """Nats of the unmasked targets, and evaluations of the velocity."""
        y, rule = zero_masked(y, mask), Exact()
        directions = rule.prepare(y, mask, key=None)

        def field(t, state):
            return rule(lambda y: self._velocity(t, y, mask), state[0], directions)

        start = (1 - self._end) * y, jnp.zeros(1, y.dtype)
        (noise, volume), count = RK4().integrate(field, self._times(steps), start)
        ends = zero_masked(jax.scipy.stats.norm.logpdf(zero_masked(noise, mask)), mask)
        scale = jnp.sum(mask) * y.shape[1] * math.log1p(-self._end)
        return jnp.sum(ends) + volume[0] + scale, count.astype(jnp.int32)

    def marginal_log_prob(self, y: Outputs) -> Float[Array, " n"]:
        """Every target by itself, one solve each."""

        def one(x, y, real) -> Scalar:
            law = eqx.tree_at(lambda law: (law.x, law.mask), self, (x[None], real[None]))
            return law.log_prob(y[None])

        return jax.vmap(one)(self.x, y, self.mask)

    def marginals(self) -> SampleMarginals:
        if self.key is None:
            raise ValueError("expected a key to estimate the moments of FlowNP, got None")
        return SampleMarginals(self.sample(key=self.key, num_samples=MOMENT_SAMPLES))


__all__ = ["FlowPrediction"]
