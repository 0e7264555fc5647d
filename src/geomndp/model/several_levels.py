r"""Log-density of values that are noised up to times of their own, by one flow.

The integrated times of the points are

$$B_i(\tau)^2 = b_i^2 + (B(\tau)^2 - b^2) \frac{B(1)^2 - b_i^2}{B(1)^2 - b^2},$$

b the smallest of their own $b_i$: smooth in $\tau$, all B(1) at time one, and soon after $b_i$
about B. With white limiting noise every point is noised by itself, so that its values follow
$\frac12 (m - y_i - u_i / \sigma_i)\, dB_i$.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp

from geomndp._arrays import bucket, pad_rows
from geomndp._types import Inputs, Mask, Outputs, PerPoint, Scalar
from geomndp.likelihood import Flow, LogProb
from geomndp.linalg import columns, zero_masked
from geomndp.noising import AbstractNoising
from geomndp.samplers import Problem, pad_problem
from geomndp.score import AbstractScore
from geomndp.solve import AbstractDynamics


class SeveralLevels(AbstractDynamics):
    """Dynamics of free points that begin at several integrated times.

    Attributes:
        noising: Forward process in flat space, with a white limiting kernel.
        score: Score of all points, each at its own time.
        x: Inputs (n, d).
        mask: 1 for a real value, 0 for padding, shape (n,) or (n, g); None where all are real.
        begin: Integrated times (n,) or (n, g) at which the values are given.
        least: The smallest of them.
    """

    noising: AbstractNoising
    score: AbstractScore
    x: Inputs
    mask: Mask | None
    begin: PerPoint
    least: Scalar

    def _levels(self, t: Scalar) -> tuple[PerPoint, PerPoint]:
        """Integrated times at the time t, and their derivatives by that of t."""
        total, now = (self.noising.schedule.integral(w) for w in (jnp.ones_like(t), t))
        share = (total**2 - self.begin**2) / (total**2 - self.least**2)
        levels = jnp.sqrt(self.begin**2 + jnp.maximum(now**2 - self.least**2, 0.0) * share)
        return levels, now * share / levels

    def u(self, t, y):
        times = self.noising.schedule.inverse(self._levels(t)[0])
        return self.score(self.noising, jnp.minimum(times, 1.0), self.x, y, self.mask)

    def flow(self, t: Scalar, y: Outputs) -> Outputs:
        levels, rates = (columns(part, self.noising.dim) for part in self._levels(t))
        drift = self.mean_reversion(y) - self.u(t, y) / self.noising.transition_std(levels)
        return zero_masked(0.5 * self.noising.schedule.beta(t) * rates * drift, self.mask)


def log_prob_at_levels(
    flow: Any, problem: Problem, y: Outputs, levels: PerPoint, key: Any
) -> LogProb:
    """Log-density of noised values under the prior.

    Args:
        flow: Solver of the probability flow.
        problem: The model and the inputs (n, d), without observations.
        y: Values (n, p) of the noised process.
        levels: Integrated time (n,) or (n, g) of every value, positive and less than B(1).
        key: Random key of the divergence's probes; None for an exact divergence.

    Returns:
        Nats, in the model's units.

    Raises:
        ValueError: If the flow is that of a student, or the score knows equal times only.
    """
    if not problem.score.conditional:
        raise ValueError(
            "expected a score trained with contexts (score.conditional) for observations of "
            "several noise variances, got one that knows equal times only"
        )
    if not isinstance(flow, Flow):
        name = type(flow).__name__
        raise ValueError(f"expected Flow for observations of several noise variances, got {name}")
    least = jnp.min(where_real(levels, problem.mask))
    levels = jnp.maximum(levels, least)
    if problem.score.pads:
        size = bucket(len(y))
        problem, y = pad_problem(problem, 0, size), pad_rows(y, size)
        levels = jnp.maximum(pad_rows(levels, size), least)
    return _solve(flow, problem, y, levels, least, key)


def where_real(levels: PerPoint, mask: Mask | None) -> PerPoint:
    """Levels (n,) or (n, g), infinite where a value is masked."""
    if mask is None:
        return levels
    mask = mask[:, None] if mask.ndim < levels.ndim else mask
    levels = levels[:, None] if levels.ndim < mask.ndim else levels
    return jnp.where(mask > 0, levels, jnp.inf)


@eqx.filter_jit
def _solve(flow: Flow, problem: Problem, y, levels, least, key) -> LogProb:
    score = problem.score.with_prepared(problem.score.prepare(problem.x, problem.mask))
    dynamics = SeveralLevels(problem.noising, score, problem.x, problem.mask, levels, least)
    t_min = problem.noising.schedule.inverse(least)
    return flow.log_prob(dynamics, y, t_min, key=key)
