"""Difference of the log-densities of two scores, by one rule and with the same probes."""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp

from geomndp._types import Outputs, PRNGKeyArray, ScalarLike
from geomndp.geometry import AbstractDivergence
from geomndp.geometry.divergence import Directions
from geomndp.likelihood.flow import Flow
from geomndp.likelihood.stepwise import Solution
from geomndp.predictive import LogProb
from geomndp.score import AbstractScore
from geomndp.solve import AbstractDynamics


class FlowDifference(eqx.Module):
    r"""Log-density of a model less that of another score: $\hat\ell_\theta(v) - \hat\ell_*(v)$.

    Both flows start from the same values and share steps and probes v, so that what a probe does
    to both cancels. Errors are those of the difference: of probes, from the differences per probe;
    of the solver, from the change of the difference on the coarser time grid.

    Attributes:
        flow: How both densities are computed.
        score: The other score, in the units of the model.
    """

    flow: Flow
    score: AbstractScore

    @property
    def divergence(self) -> AbstractDivergence:
        """That of the flow: its probes serve both scores."""
        return self.flow.divergence

    def log_prob(
        self,
        dynamics: AbstractDynamics,
        y: Outputs,
        t_min: ScalarLike,
        *,
        key: PRNGKeyArray | None = None,
    ) -> LogProb:
        """Difference of the log-densities of values (n, p), arguments as those of `Flow`."""
        directions = self.divergence.prepare(y, dynamics.mask, key=key)
        return self.summary(self.solve(dynamics, y, t_min, directions))

    def solve(
        self, dynamics: AbstractDynamics, y: Outputs, t_min: ScalarLike, directions: Directions
    ) -> Solution:
        """Solution of the model's flow less that of the other score's, entry by entry."""
        others = dataclasses.replace(dynamics, score=self.score)
        first = self.flow.solve(dynamics, y, t_min, directions)
        second = self.flow.solve(others, y, t_min, directions)
        difference = jax.tree.map(jnp.subtract, first, second)
        return difference._replace(evaluations=first.evaluations + second.evaluations)

    def summary(self, joint: Solution, context: Solution | None = None) -> LogProb:
        """Difference in nats with its errors, from one solution or as the difference of two."""
        return self.flow.summary(joint, context)
