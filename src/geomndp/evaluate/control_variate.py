r"""The exact score as a control variate: log-likelihoods without the noise of random probes.

With $\hat\ell_\theta(v)$ the log-density of a task by the probability flow of a model's score with
probes v, $\hat\ell_*(v)$ that by the flow of the exact score with the same probes and steps, and
$\ell_*$ the log-density of the exact process,

$$\tilde\ell = \ell_* + \hat\ell_\theta(v) - \hat\ell_*(v).$$

A model that is nearly exact has nearly the same noise from v, which cancels. So does the error
$\hat\ell_* - \ell_*$ that flow, terminal law and solver make with the exact score: it is returned
apart (`flow_error`), and $\tilde\ell$ plus this error is the model's own log-density by its flow.
The regret $\ell_* - \tilde\ell$ of the exact score is zero, whatever the probes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx

from geomndp._types import Array, Batch, Float
from geomndp.evaluate.grid_model import GridModel
from geomndp.evaluate.log_likelihood import LogLikelihoods, log_likelihood
from geomndp.likelihood import Flow, FlowDifference
from geomndp.model import Model
from geomndp.score import AbstractScore


class ControlledLogLikelihoods(NamedTuple):
    """Log-densities with a control variate.

    Attributes:
        log_probs: The corrected ones, with the errors of the correction.
        flow_error: What the exact score's flow differs from the exact process by, nats per task.
    """

    log_probs: LogLikelihoods
    flow_error: Float[Array, " tasks"]


def controlled_log_likelihood(
    process: Model | GridModel,
    tasks: Batch,
    exact_score: AbstractScore,
    exact: Float[Array, " tasks"],
    *,
    flow: Flow,
    error_flow: Flow | None = None,
    **options: Any,
) -> ControlledLogLikelihoods:
    r"""Log-density $\ell_* + \hat\ell_\theta(v) - \hat\ell_*(v)$ of the targets of every task.

    Args:
        process: A diffusion model without a normaliser.
        tasks: Functions with their context.
        exact_score: Score of the law of the tasks, for the same points, context and route.
        exact: Log-densities $\ell_*$ of the exact process, nats per task.
        flow: Steps and probes of both flows.
        error_flow: Flow whose error with the exact score is found, by default the same; one with an
            exact divergence, where that is affordable, has no noise.
        **options: Further arguments of `log_likelihood`. A `directory` keeps the differences, and
            in its folder `exact-flow` the log-densities by the exact score's flow.

    Returns:
        Totals per task. Errors of probes and solver are those of the difference of the two flows.

    Raises:
        ValueError: If the model has units of its own.
    """
    model = process.model if isinstance(process, GridModel) else process
    if model.normaliser is not None:
        raise ValueError("expected a model without a normaliser, got one with units of its own")
    of_exact = eqx.tree_at(_score, process, exact_score)
    paired = FlowDifference(flow, exact_score)
    differences = log_likelihood(process, tasks, flow=paired, **options)
    if options.get("directory") is not None:
        options["directory"] = Path(options["directory"]) / "exact-flow"
    by_flow = log_likelihood(of_exact, tasks, flow=error_flow or flow, **options)
    log_probs = differences._replace(value=exact + differences.value)
    return ControlledLogLikelihoods(log_probs, by_flow.value - exact)


def _score(process: Model | GridModel) -> AbstractScore:
    return process.model.score if isinstance(process, GridModel) else process.score
