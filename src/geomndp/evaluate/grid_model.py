"""A diffusion model on a grid that all fields share: one graph for all, the context in place."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from geomndp import _validation
from geomndp._types import Inputs, Mask, Outputs, PRNGKeyArray
from geomndp.likelihood import Flow, FlowDifference
from geomndp.model import Model
from geomndp.model.likelihood_routes import ROUTES
from geomndp.noising import AbstractNoising
from geomndp.predictive import AbstractPredictive, AbstractProcess, LogProb
from geomndp.score import AbstractScore
from geomndp.solve import AbstractDynamics, ConditionalDynamics


class InPlace(AbstractDynamics):
    """Free points among observed ones: the flow moves those with mask 1, the others stay.

    `ConditionalDynamics` puts the context first instead: another order of points for every field.
    """

    noising: AbstractNoising
    score: AbstractScore
    x: Inputs
    mask: Mask
    grid: Inputs
    observed: Outputs

    def u(self, t, y):
        """Scaled score at the free points and zero noise at the observed ones."""
        times = jnp.where(self.mask > 0, t, 0.0)
        values = jnp.where(self.mask[:, None] > 0, y, self.observed)
        return self.score(self.noising, times, self.grid, values, None)


class GridModel(AbstractProcess):
    """A model whose context and targets are rows of one grid, distinguished by masks.

    Attributes:
        model: A model without a normaliser.
        num_context: Context points of every field, needed by the route "joint".
    """

    model: Model
    num_context: int = eqx.field(static=True)

    def __check_init__(self) -> None:
        if self.model.normaliser is not None:
            raise ValueError("expected a model without a normaliser, got one with units of its own")

    def condition(
        self, x: Inputs, y: Outputs, noise: Any = 0.0, mask: Mask | None = None
    ) -> GridPredictive:
        """Law given the rows of a grid that a mask marks.

        Args:
            x: The grid, shape (n, d).
            y: Values, shape (n, p); those of unmarked rows are not read.
            noise: Must be 0.
            mask: 1 for rows of the context, shape (n,).

        Returns:
            The law of other rows of the same grid.
        """
        if mask is None:
            raise ValueError("expected a mask that marks the context, got None")
        if _validation.concrete(noise) and np.any(np.asarray(noise) != 0):
            raise ValueError(f"expected observations without noise on a grid, got noise {noise}")
        return GridPredictive(self.model, self.num_context, x, y, mask)


class GridPredictive(AbstractPredictive):
    """Law of the other rows of a grid.

    Attributes:
        model: The model.
        num_context: Number of context rows.
        x: The grid, shape (n, d).
        y: Values, shape (n, p).
        mask: 1 for rows of the context, shape (n,).
    """

    model: Model
    num_context: int = eqx.field(static=True)
    x: Inputs
    y: Outputs
    mask: Mask

    def sample(self, x: Inputs, *, key: PRNGKeyArray, num_samples: int, **options: Any):
        """Draw (num_samples, n, p) functions, as the model's own posterior does.

        Args:
            x: Inputs, shape (n, d).
            key: Random key.
            num_samples: Number of draws.
            **options: Further arguments of `Posterior.sample`.

        Returns:
            Samples.
        """
        law = self.model.condition(self.x, self.y, mask=self.mask)
        return law.sample(x, key=key, num_samples=num_samples, **options)

    def log_prob_info(
        self,
        x: Inputs,
        y: Outputs,
        *,
        key: PRNGKeyArray | None = None,
        mask: Mask | None = None,
        flow: Flow | FlowDifference | None = None,
        route: str = "conditional",
    ) -> LogProb:
        """Log-density of the rows of the grid that a mask marks, all that are not context.

        Args:
            x: The grid again.
            y: Values, shape (n, p).
            key: For random probes.
            mask: 1 for targets: where the context's is 0.
            flow: How the density is computed.
            route: "conditional" holds the context at time zero; "joint" is
                log p(field) - log p(context).

        Returns:
            Nats, with the errors of the computation.
        """
        _validation.one_of("route", route, ROUTES)
        flow = Flow() if flow is None else flow
        rule = self._conditional if route == "conditional" else self._joint
        return rule(flow, jnp.where(self.mask[:, None] > 0, self.y, y), key)

    def _conditional(self, flow: Flow | FlowDifference, y: Outputs, key) -> LogProb:
        model = self.model
        dynamics = InPlace(model.noising, model.score, self.x, 1.0 - self.mask, self.x, y)
        return flow.log_prob(dynamics, y, model.t_min, key=key)

    def _joint(self, flow: Flow | FlowDifference, y: Outputs, key) -> LogProb:
        model = self.model
        field_key, context_key = (None, None) if key is None else jax.random.split(key)
        dynamics = ConditionalDynamics(model.noising, model.score, self.x).with_prepared()
        field = flow.log_prob(dynamics, y, model.t_min, key=field_key)
        _, rows = jax.lax.top_k(self.mask, self.num_context)
        dynamics = ConditionalDynamics(model.noising, model.score, self.x[rows]).with_prepared()
        context = flow.log_prob(dynamics, y[rows], model.t_min, key=context_key)
        return LogProb(
            field.value - context.value,
            field.solver_error + context.solver_error,
            jnp.hypot(field.probe_error, context.probe_error),
            field.evaluations + context.evaluations,
        )
