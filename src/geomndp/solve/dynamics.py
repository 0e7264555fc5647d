r"""Reverse-time dynamics of the free points of one function, given a context or none.

With the context at time zero (or, for noisy observations, at the small time whose noise is the
observation's) the score of the free points is that of their conditional law: $u_* = -E[\xi_* | Y]$
is exact for any limiting kernel, since $\xi_*$ keeps its law given the context.
"""

import abc
import dataclasses
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp

from geomndp._types import Inputs, Mask, Outputs, PerPoint, Scalar, Times
from geomndp.linalg import (
    AbstractGram,
    columns,
    join_masks,
    join_per_point,
    of_one_rank,
    per_point,
    row_mask,
    zero_masked,
)
from geomndp.noising import AbstractNoising
from geomndp.score import AbstractScore
from geomndp.solve.integrators import Norm, masked_rms

if TYPE_CHECKING:  # to pyright an AbstractVar is a field, the first of every subclass
    from typing import ClassVar as AbstractVar
else:
    from equinox import AbstractVar


class Context(eqx.Module):
    """Context points, fixed, each at its own diffusion time.

    Attributes:
        x: Inputs (n, d).
        y: Values (n, p), noised up to the times `t`.
        t: Diffusion times (n,), or (n, g) per group of outputs, zero for values without noise.
        mask: 1 for an observed value, 0 for padding or a missing one, shape (n,) or (n, g); None
            where all are observed.
    """

    x: Inputs
    y: Outputs
    t: PerPoint
    mask: Mask | None = None


class ScoreInputs(NamedTuple):
    """Arguments of a score after the noising: times, inputs (n, d), values (n, p) and mask."""

    t: Times
    x: Inputs
    y: Outputs
    mask: Mask | None


class AbstractDynamics(eqx.Module):
    r"""Free points of one function, and the score of their noised law.

    The score is $u = \sigma K \nabla \log p_t$. Reverse steps and the probability flow follow it.

    Attributes:
        noising: Forward process.
        x: Inputs (n, d) of the free points.
        mask: 1 for a real value, 0 for padding, shape (n,) or (n, g); None where all are real.
    """

    noising: AbstractVar[AbstractNoising]
    x: AbstractVar[Inputs]
    mask: AbstractVar[Mask | None]

    @abc.abstractmethod
    def u(self, t: Scalar, y: Outputs) -> Outputs:
        """Score u of the free points.

        Args:
            t: Diffusion time.
            y: Noised values (n, p) at that time.

        Returns:
            Score, shape (n, p).
        """

    def clean(self, t: Scalar, y: Outputs, u: Outputs) -> Outputs:
        r"""Tweedie's mean of the clean values, $m + (y - m + \sigma u) / a$.

        On a manifold that is $\exp_y(\sigma u)$, right to first order in $\sigma^2$.

        Args:
            t: Diffusion time.
            y: Noised values (n, p).
            u: Score there, shape (n, p).

        Returns:
            Estimate of the clean values, shape (n, p).
        """
        a, sigma = self.noising.alpha(t), self.noising.sigma(t)
        v = (sigma * u - (1 - a) * self.mean_reversion(y)) / a
        return self.noising.manifold.exp(y, v)

    def flow(self, t: Scalar, y: Outputs) -> Outputs:
        r"""Velocity of the probability flow, $\frac12 \beta (m - y - u / \sigma)$.

        On a manifold it is without m - y.

        Args:
            t: Diffusion time.
            y: Noised values (n, p).

        Returns:
            Velocity dy/dt, shape (n, p), zero at masked points.
        """
        drift = self.mean_reversion(y) - self.u(t, y) / self.noising.sigma(t)
        return zero_masked(0.5 * self.noising.schedule.beta(t) * drift, self.mask)

    def mean_reversion(self, y: Outputs) -> Outputs:
        """Direction (n, p) in which values decay: m - y in flat space."""
        return self.noising.mean_reversion(self.x, y)

    def mean(self) -> Outputs:
        """Mean (n, p) of the limiting law at the free points."""
        return self.noising.mean_at(self.x)

    def gram(self) -> AbstractGram:
        """Covariance operator of the limiting law at the free points."""
        return self.noising.gram(self.x, self.mask)

    def rows(self) -> Mask | None:
        """1 for a point that has any value, 0 for padding, shape (n,); None where all have."""
        return row_mask(self.mask)

    def norm(self) -> Norm | None:
        """Norm for error control that does not count masked points, None where there are none."""
        return None if self.mask is None else masked_rms(self.mask)


class ConditionalDynamics(AbstractDynamics):
    """Dynamics of the free points under a score, given a context or none.

    Attributes:
        noising: Forward process.
        score: Score of all points, each at its own time.
        x: Inputs (n, d) of the free points.
        mask: 1 for a real value, 0 for padding, shape (n,) or (n, g); None where all are real.
        context: Fixed points; None for the unconditional law.
        partial: Observed outputs at the free points themselves, whose other outputs are free; its
            mask (n, g) says which. They stay at their own times.
    """

    noising: AbstractNoising
    score: AbstractScore
    x: Inputs
    mask: Mask | None = None
    context: Context | None = None
    partial: Context | None = None

    def u(self, t, y):
        u = self.score(self.noising, *self.points(t, y))
        u = u if self.context is None else u[len(self.context.x) :]
        return u if self.partial is None else zero_masked(u, self.mask)

    def flow_map(self, t: Scalar, s: Scalar, y: Outputs) -> Outputs:
        """Free values to which the probability flow leads; the context stays.

        Args:
            t: Diffusion time.
            s: Time to which the flow leads.
            y: Values (n, p) at time t.

        Returns:
            Values (n, p) at time s.

        Raises:
            ValueError: If the score knows no flow map.
        """
        now, targets = self.points(t, y), self.points(s, y).t
        values = self.score.flow_map(self.noising, now.t, targets, now.x, now.y, now.mask)
        values = values if self.context is None else values[len(self.context.x) :]
        return values if self.partial is None else zero_masked(values, self.mask)

    def prepare(self) -> Any:
        """What all evaluations of the score share: the points stay where they are."""
        y = jnp.zeros((len(self.x), self.noising.dim), self.x.dtype)
        points = self.points(jnp.zeros((), y.dtype), y)
        return self.score.prepare(points.x, points.mask)

    def with_prepared(self, prepared: Any = None) -> "ConditionalDynamics":
        """The dynamics of a score that knows its points, by `prepare` unless that was done."""
        prepared = self.prepare() if prepared is None else prepared
        return dataclasses.replace(self, score=self.score.with_prepared(prepared))

    def rows(self):
        rows = row_mask(self.mask)
        if self.partial is None or rows is None:
            return rows
        observed = row_mask(self.partial.mask)
        return None if observed is None else jnp.maximum(rows, observed)

    def points(self, t: Scalar, y: Outputs) -> ScoreInputs:
        """All points, context first, each value at its own time.

        Args:
            t: Diffusion time of the free values.
            y: Their values (n, p) at that time.
        """
        rows = ScoreInputs(t, self.x, y, self.mask)
        if self.partial is not None:
            rows = _with_observed(rows, self.partial)
        return rows if self.context is None else _after_context(self.context, rows)

    def observed(self) -> ScoreInputs | None:
        """Observed values alone, context first, in the rows that they have in `points`."""
        context, partial = self.context, self.partial
        if partial is None:
            return None if context is None else ScoreInputs(context.t, *_parts(context))
        rows = ScoreInputs(partial.t, *_parts(partial))
        return rows if context is None else _after_context(context, rows)


def _parts(context: Context) -> tuple[Inputs, Outputs, Mask | None]:
    return context.x, context.y, context.mask


def _with_observed(rows: ScoreInputs, partial: Context) -> ScoreInputs:
    """Rows in which some outputs are observed, at their own times."""
    assert partial.mask is not None
    ones = jnp.ones(len(rows.x), rows.y.dtype)
    free = ones if rows.mask is None else rows.mask
    times = per_point(rows.t, len(rows.x))
    seen, free, times, own = of_one_rank(partial.mask, free, times, partial.t)
    y = jnp.where(columns(seen, rows.y.shape[1]) > 0, partial.y, rows.y)
    return ScoreInputs(jnp.where(seen > 0, own, times), rows.x, y, jnp.maximum(seen, free))


def _after_context(context: Context, rows: ScoreInputs) -> ScoreInputs:
    """Rows after those of a context."""
    n, m = len(context.x), len(rows.x)
    return ScoreInputs(
        join_per_point(context.t, per_point(rows.t, m)),
        jnp.concatenate([context.x, rows.x]),
        jnp.concatenate([context.y, rows.y]),
        join_masks(context.mask, rows.mask, n, m, rows.y.dtype),
    )
