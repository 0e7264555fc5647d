"""A model in the hand: samples, posterior samples given any observations, and log-likelihoods."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

import equinox as eqx
import jax.numpy as jnp

from geomndp import _checks
from geomndp._types import Inputs, Scalar
from geomndp.data import Normaliser
from geomndp.likelihood import Flow, LogProb
from geomndp.model import execute
from geomndp.model.centre import common_centre, target_inputs
from geomndp.model.checks import (
    as_float,
    as_observations,
    check_like,
    check_names,
    check_request,
    check_scales,
    finite_log_prob,
    finite_samples,
    in_model_units,
    in_units,
    names_of,
    rescaled,
)
from geomndp.model.clock import Progress
from geomndp.model.outside import warn_about_context, warn_about_targets
from geomndp.model.routes import amortises, chosen_flow, chosen_route
from geomndp.model.rows import Seed, as_key, as_rows, known_rows, target_rows, unmasked
from geomndp.model.support import TrainingSupport
from geomndp.model.words import describe_model, describe_posterior
from geomndp.nets import with_capacity
from geomndp.noising import AbstractNoising
from geomndp.samplers import (
    AbstractSampler,
    Amortised,
    MomentMatching,
    Observations,
    Problem,
    Samples,
)
from geomndp.score import AbstractScore
from geomndp.tables import (
    Variables,
    is_table,
    name_variables,
    read_inputs,
    read_observations,
    read_origin,
    read_rows,
    write_samples,
)

Chosen = AbstractSampler | None
"""A sampler, or None for the posterior's own choice."""
Key = Seed | None


class Model(eqx.Module):
    """Law of functions: a noising and the score of what it noised.

    `normaliser` changes between the data's units, which every method speaks, and the model's.
    With `variables` (names and units, see `named`) every method also takes a DataFrame or Dataset
    in the place of x and y. `support` is what training saw: requests outside of it warn.
    """

    noising: AbstractNoising
    score: AbstractScore
    eps: float = eqx.field(default=5e-4, static=True)
    normaliser: Normaliser | None = None
    variables: Variables | None = None
    support: TrainingSupport | None = None

    def __repr__(self) -> str:
        return describe_model(self)

    def __check_init__(self) -> None:
        check_names(self.variables, self.noising)
        if not _checks.is_number(self.eps) or not 0 < self.eps < 1:
            raise ValueError(f"expected 0 < eps < 1, got {_checks.brief(self.eps)}")
        check_scales(self.normaliser, self.noising.manifold)

    def sample(
        self,
        x: Any,
        *,
        key: Seed,
        num_samples: int = 16,
        sampler: Chosen = None,
        origin: Any = None,
        max_memory: int | None = None,
        progress: Progress = True,
    ) -> Any:
        """Draw (num_samples, n, p) functions at x; a table at the places of a table.

        Datetimes count from the datetime `origin`, by default from the earliest of them.
        `max_memory` and `progress` as in `Posterior.sample`.
        """
        law, options = self._unconditioned(x, origin), (max_memory, progress)
        return law.sample(x, key=key, num_samples=num_samples, sampler=sampler, **_named(*options))

    def log_prob(
        self, x: Any, y: Any = None, key: Key = None, mask: Any = None, origin: Any = None
    ) -> Scalar:
        """Joint log-density of y at x in nats, in the data's units.

        Without a key the divergence is exact; with one it is estimated from random probes.
        Datetimes count from `origin` as in `sample`.
        """
        return self.log_prob_info(x, y, key=key, mask=mask, origin=origin).value

    def log_prob_info(
        self,
        x: Any,
        y: Any = None,
        key: Key = None,
        mask: Any = None,
        flow: Flow | None = None,
        origin: Any = None,
        max_memory: int | None = None,
        progress: Progress = True,
    ) -> LogProb:
        """Log-density with its solver and probe errors."""
        law, options = self._unconditioned(x, origin), _named(max_memory, progress)
        return law.log_prob_info(x, y, key=key, mask=mask, flow=flow, **options)

    def condition(self, x: Any, y: Any = None, noise: Any = 0.0, origin: Any = None) -> Posterior:
        """Law given values y at x, any number of them, or a table; `noise` is a variance.

        One for all points, one a point, or the name of a table's column. On a manifold it is the
        time of the heat kernel around the true value. Datetimes count from the datetime `origin`,
        by default that of the first observation: give a storm's first moment if its age matters.
        """
        origin = read_origin(self.variables, origin)
        if is_table(x):
            x, y, noise, origin = read_observations(names_of(self, y), x, noise, origin)
        x, y, noise = known_rows(x, y, noise, self.noising.dim)
        observations = as_observations(x, y, noise, self.noising.manifold)
        self.noising.manifold.check("y of the context", observations.y)
        centre = common_centre(self, x)
        observations = in_model_units(self, observations, x, y, centre)
        warn_about_context(self, observations)
        return Posterior(self, observations, origin, centre)

    def named(self, inputs: Any, outputs: Any, units: dict[str, str] | None = None) -> Model:
        """Give inputs and outputs the names (and units) under which tables have them.

        On the sphere the outputs are latitude and longitude in degrees. Units of time make a model
        read datetimes: "days" counts from the first observation, "days since 2000-01-01" does not.
        """
        codomain = "real" if self.noising.manifold.flat else "sphere"
        names = name_variables(inputs, outputs, codomain, units)
        return dataclasses.replace(self, variables=names)

    def save(
        self, path: str | os.PathLike, metadata: dict | None = None, dtype: str | None = None
    ) -> None:
        """Write `path`.safetensors, one file; `metadata` (JSON) travels along.

        `dtype` "float16" or "bfloat16" stores the parameters in half the size; loading gives the
        network's own dtype back.
        """
        from geomndp.model.files import save

        save(self, path, metadata, dtype)

    def _unconditioned(self, x, origin) -> Posterior:
        x = as_float("x", read_inputs(names_of(self), x).x if is_table(x) else unmasked(x))
        d = x.shape[1] if x.ndim == 2 else 1
        nothing = (jnp.zeros((0, dim), dtype=x.dtype) for dim in (d, self.noising.dim))
        return self.condition(*nothing, origin=origin)


def _named(max_memory: int | None, progress: Progress) -> dict[str, Any]:
    return {"max_memory": max_memory, "progress": progress}


class Posterior(eqx.Module):
    """Law of a model's functions given observations (held in the model's units).

    `origin` is the moment from which the datetimes of observations were counted, `centre` what was
    subtracted from far inputs in the model's units, `()` for nothing.
    """

    model: Model
    observations: Observations
    origin: str | None = eqx.field(default=None, static=True)
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
        options = _named(max_memory, progress)
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
        _checks.function(x, y, dim=self.model.noising.dim, mask=mask)
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
        result = execute.log_prob(flow, self.problem(x), y, mask, key, route, settings)
        return finite_log_prob(result._replace(value=result.value + jacobian))

    def problem(self, x: Inputs) -> Problem:
        """What samplers and likelihoods work on, in the model's units less the `centre`."""
        model = self.model
        check_like(x, self.observations.x)
        score = with_capacity(model.score, self.observations.x, x)
        return Problem(model.noising, score, x, self.observations, model.eps)

    def default_sampler(self) -> AbstractSampler:
        """One reverse pass if the score knows contexts, else moment matching."""
        problem = self.problem(self.observations.x)
        return Amortised() if amortises(problem) else MomentMatching()

    def _read(self, read, table) -> tuple:
        """Inputs and, by some readers, values of a table."""
        own = len(self.observations.x) == 0
        return read(names_of(self.model), table, origin=self.origin, own=own)[:2]

    def _inputs(self, x) -> Inputs:
        given = self._read(read_inputs, x)[0] if is_table(x) else as_rows(x)
        x = as_float("x", given, self.observations.x.dtype if is_table(x) else None)
        _checks.function(x, dim=self.model.noising.dim)
        return target_inputs(self, given, x.dtype)
