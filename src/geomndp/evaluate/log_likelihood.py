"""Log-likelihoods of a model and of the exact process on the same functions.

Tasks hold their context (padded) in the first rows and their targets in the others, as
`geomndp.data.tasks` makes them. All results are nats per target.
"""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._types import Array, Batch, Float, PRNGKeyArray
from geomndp.evaluate.resumable import AbstractMeasurement, run_resumable
from geomndp.gp import GP
from geomndp.likelihood import Flow
from geomndp.model import Model, log_prob
from geomndp.model.likelihood_routes import ROUTES
from geomndp.samplers import Observations, Problem


class PerTarget(NamedTuple):
    """Log-density per target of every task, with the errors of its computation."""

    value: Float[Array, " tasks"]
    solver_error: Float[Array, " tasks"]
    probe_error: Float[Array, " tasks"]


def split(task: Batch, contexts: int) -> tuple[Observations, Array, Array]:
    """Observations, target inputs and target outputs of one task."""
    x, y, _, context = task
    noise = jnp.zeros(contexts, dtype=x.dtype)
    observed = Observations(x[:contexts], y[:contexts], noise, False, context[:contexts])
    return observed, x[contexts:], y[contexts:]


class LogProbs(AbstractMeasurement):
    """Log-density per target of each task's targets given its context."""

    flow: Flow
    contexts: int = eqx.field(static=True)
    route: str = eqx.field(default="conditional", static=True)
    batch_size: int = eqx.field(default=64, static=True)

    def __check_init__(self) -> None:
        _validation.one_of("route", self.route, ROUTES)

    def __call__(self, model, items):
        """Items are tasks and, for random probes, one key a task (else None)."""

        def one(item):
            task, key = item
            observed, x, y = split(task, self.contexts)
            problem = Problem(model.noising, model.score, x, observed, model.t_min)
            result = log_prob(self.flow, problem, y, None, key, self.route)
            return PerTarget(*(value / len(x) for value in result[:3]))._asdict()

        return jax.lax.map(one, items, batch_size=min(self.batch_size, len(items[0].x)))


def model_log_prob(
    model: Model,
    tasks: Batch,
    flow: Flow,
    *,
    contexts: int,
    route: str = "conditional",
    key: PRNGKeyArray | None = None,
    batch_size: int = 64,
    **options,
) -> PerTarget:
    """Log-density per target of each task's targets given its context.

    `batch_size` tasks go side by side on a device. Options as those of `run_resumable`: `block`,
    `directory` to keep results and go on after a stop, `devices`.
    """
    keys = None if key is None else jr.split(key, len(tasks.x))
    measurement = LogProbs(flow, contexts, route, batch_size)
    found = run_resumable(measurement, model, (tasks, keys), **options)
    return PerTarget(**{name: jnp.asarray(values) for name, values in found.items()})


@eqx.filter_jit
def exact_log_prob(gp: GP, tasks: Batch, *, contexts: int) -> Float[Array, " tasks"]:
    """The same of the exact process: the best that any model can do on average."""
    targets = tasks.x.shape[1] - contexts

    def one(task):
        observed, x, y = split(task, contexts)
        posterior = gp.condition(observed.x, observed.y, mask=observed.mask)
        return posterior.log_prob(x, y) / targets

    return jax.vmap(one)(tasks)


class Summary(NamedTuple):
    """Mean over tasks and its standard error."""

    mean: float
    standard_error: float


def summarise(values: Float[Array, " tasks"]) -> Summary:
    """Mean with its standard error."""
    error = jnp.std(values, ddof=1) / jnp.sqrt(jnp.asarray(len(values), values.dtype))
    return Summary(float(jnp.mean(values)), float(error))
