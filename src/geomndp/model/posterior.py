"""The law of a model's functions given observations: samples and log-likelihoods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import equinox as eqx

from geomndp import _validation
from geomndp._types import Inputs, Mask, Scalar
from geomndp.likelihood import Flow, LogProb
from geomndp.model import execute
from geomndp.model.checks import (
    as_float,
    check_like,
    check_request,
    finite_log_prob,
    finite_samples,
    in_units,
    names_of,
    rescaled,
)
from geomndp.model.clock import Progress
from geomndp.model.far_inputs import target_inputs
from geomndp.model.likelihood_routes import amortises, chosen_flow, chosen_route
from geomndp.model.outside import warn_about_targets
from geomndp.model.rows import Seed, as_key, as_rows, target_rows
from geomndp.model.summary import describe_posterior
from geomndp.nets import with_capacity
from geomndp.samplers import (
    AbstractSampler,
    Amortised,
    MomentMatching,
    Observations,
    Problem,
    Samples,
)
from geomndp.tables import is_table, read_inputs, read_rows, write_samples

if TYPE_CHECKING:  # a model makes posteriors, and so imports this module
    from geomndp.model.model import Model
else:
    Model = eqx.Module

Chosen = AbstractSampler | None
"""A sampler, or None for the posterior's own choice."""
Key = Seed | None


class Posterior(eqx.Module):
    """Law of a model's functions given observations (held in the model's units).

    `time_origin` is the moment from which the datetimes of observations were counted, `centre`
    what was subtracted from far inputs in the model's units, `()` for nothing.
    """

    model: Model
    observations: Observations
    time_origin: str | None = eqx.field(default=None, static=True)
    centre: tuple[float, ...] = eqx.field(default=(), static=True)

    def __repr__(self) -> str:
        return describe_posterior(self)

    def sample(
        self,
        x: Any,
        *,
        key: Seed,
        num_samples: int = 16,
        sampler: Chosen = None,
        max_memory: int | None = None,
        progress: Progress = True,
    ) -> Any:
        """Draw (num_samples, n, p) functions at x.

        At the places of a Dataset: a Dataset with these places' coordinates and a dimension
        `sample`. At those of a DataFrame: a tidy DataFrame, one row a `sample` and place.

        Samples are drawn in blocks that take at most `max_memory` bytes, by default half of what
        is free; the i-th sample depends on the key and i alone, but for rounding. What takes more
        than two seconds shows a bar on a terminal, unless `progress` is False; a function in its
        place hears the number of samples that are done.
        """
        options = {"max_memory": max_memory, "progress": progress}
        info = self.sample_info(x, key=key, num_samples=num_samples, sampler=sampler, **options)
        y = finite_samples(info)
        return write_samples(names_of(self.model), x, y) if is_table(x) else y

    def sample_info(
        self,
        x: Any,
        *,
        key: Seed,
        num_samples: int = 16,
        sampler: Chosen = None,
        max_memory: int | None = None,
        progress: Progress = True,
    ) -> Samples:
        """Draws with what happened on the way; not checked to be finite."""
        sampler, key = self.default_sampler() if sampler is None else sampler, as_key(key)
        check_request(num_samples, sampler, key)
        problem = self.problem(self._inputs(x))
        sampler.check(problem)
        warn_about_targets(self, problem.x)
        settings = execute.Settings(max_memory, progress)
        samples = execute.sample(sampler, problem, key, int(num_samples), settings)
        normaliser = self.model.normaliser
        if normaliser is None:
            return samples
        return samples._replace(y=in_units(normaliser.inverse_y, samples.y))

    def log_prob(self, x: Any, y: Any = None, key: Key = None, route: str | None = None) -> Scalar:
        """Log-density of y at x given the observations, in nats, in the data's units.

        Route "conditional" holds the observations at time zero: one solve. Route "joint" is
        log p(y, observations) - log p(observations): two.
        """
        return self.log_prob_info(x, y, key=key, route=route).value

    def log_prob_info(
        self,
        x: Any,
        y: Any = None,
        key: Key = None,
        route: str | None = None,
        mask: Any = None,
        flow: Flow | None = None,
        max_memory: int | None = None,
        progress: Progress = True,
    ) -> LogProb:
        """Log-density with its solver and probe errors."""
        dtype = self.observations.x.dtype if is_table(x) else None
        if is_table(x):
            names_of(self.model, y)
            x, y = self._read(read_rows, x)
        given = x, y, mask = target_rows(x, y, mask, self.model.noising.dim)
        x, y, key = as_float("x", x, dtype), as_float("y", y, dtype), as_key(key)
        mask = None if mask is None else mask.astype(x.dtype)
        _validation.function(x, y, dim=self.model.noising.dim, mask=mask)
        self.model.noising.manifold.check("y", y, mask)
        flow = chosen_flow(flow, key)
        route = chosen_route(self.problem(self.observations.x), route)
        normaliser, jacobian = self.model.normaliser, 0.0
        if normaliser is not None:
            jacobian = normaliser.log_jacobian(y, mask)
            y = rescaled(normaliser.forward_y, given[1], y)
        x = target_inputs(self, given[0], x.dtype, mask)
        warn_about_targets(self, x, y, mask)
        settings = execute.Settings(max_memory, progress)
        result = execute.log_prob(flow, self.problem(x, mask), y, mask, key, route, settings)
        return finite_log_prob(result._replace(value=result.value + jacobian))

    def problem(self, x: Inputs, mask: Mask | None = None) -> Problem:
        """What samplers and likelihoods work on, in the model's units less the `centre`.

        Rows that a `mask` leaves out get no room in a graph; the problem itself has no mask.
        """
        model = self.model
        check_like(x, self.observations.x)
        score = with_capacity(model.score, self.observations.x, x, masks=(None, mask))
        return Problem(model.noising, score, x, self.observations, model.t_min)

    def default_sampler(self) -> AbstractSampler:
        """One reverse pass if the score knows contexts, else moment matching."""
        problem = self.problem(self.observations.x)
        return Amortised() if amortises(problem) else MomentMatching()

    def _read(self, read, table) -> tuple:
        """Inputs and, by some readers, values of a table."""
        own = len(self.observations.x) == 0
        return read(names_of(self.model), table, time_origin=self.time_origin, own=own)[:2]

    def _inputs(self, x) -> Inputs:
        given = self._read(read_inputs, x)[0] if is_table(x) else as_rows(x)
        x = as_float("x", given, self.observations.x.dtype if is_table(x) else None)
        _validation.function(x, dim=self.model.noising.dim)
        return target_inputs(self, given, x.dtype)
