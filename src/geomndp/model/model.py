"""A model in the hand: samples, posterior samples given any observations, and log-likelihoods."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

import equinox as eqx
import jax.numpy as jnp

from geomndp import _validation
from geomndp._deprecated import renamed_arguments, renamed_attribute
from geomndp._types import Scalar
from geomndp.data import Normaliser
from geomndp.likelihood import Flow, LogProb
from geomndp.model.checks import (
    as_float,
    as_observations,
    check_columns,
    check_names,
    check_scales,
    in_model_units,
    names_of,
)
from geomndp.model.clock import Progress
from geomndp.model.far_inputs import common_centre
from geomndp.model.outside import warn_about_context
from geomndp.model.posterior import Chosen, Key, Posterior
from geomndp.model.rows import Seed, known_rows, unmasked
from geomndp.model.summary import describe_model
from geomndp.model.support import TrainingSupport
from geomndp.noising import AbstractNoising
from geomndp.score import AbstractScore
from geomndp.tables import (
    Variables,
    is_table,
    name_variables,
    read_inputs,
    read_observations,
    read_time_origin,
)


@renamed_arguments(eps="t_min")
class Model(eqx.Module):
    """Law of functions: a noising and the score of what it noised.

    `normaliser` changes between the data's units, which every method speaks, and the model's.
    With `variables` (names and units, see `with_variables`) every method also takes a DataFrame or
    Dataset in the place of x and y. `support` is what training saw: requests outside of it warn.
    """

    noising: AbstractNoising
    score: AbstractScore
    t_min: float = eqx.field(default=5e-4, static=True)
    normaliser: Normaliser | None = None
    variables: Variables | None = None
    support: TrainingSupport | None = None

    eps = renamed_attribute("t_min")
    named = renamed_attribute("with_variables")

    def __repr__(self) -> str:
        return describe_model(self)

    def __check_init__(self) -> None:
        check_names(self.variables, self.noising)
        if not _validation.is_number(self.t_min) or not 0 < self.t_min < 1:
            raise ValueError(f"expected 0 < t_min < 1, got {_validation.brief(self.t_min)}")
        check_scales(self.normaliser, self.noising.manifold)

    @renamed_arguments(origin="time_origin")
    def sample(
        self,
        x: Any,
        *,
        key: Seed,
        num_samples: int = 16,
        sampler: Chosen = None,
        time_origin: Any = None,
        max_memory: int | None = None,
        progress: Progress = True,
    ) -> Any:
        """Draw (num_samples, n, p) functions at x; a table at the places of a table.

        Datetimes count from the datetime `time_origin`, by default from the earliest of them.
        `max_memory` and `progress` as in `Posterior.sample`.
        """
        law = self._unconditioned(x, time_origin)
        options = {"max_memory": max_memory, "progress": progress}
        return law.sample(x, key=key, num_samples=num_samples, sampler=sampler, **options)

    @renamed_arguments(origin="time_origin")
    def log_prob(
        self, x: Any, y: Any = None, key: Key = None, mask: Any = None, time_origin: Any = None
    ) -> Scalar:
        """Joint log-density of y at x in nats, in the data's units.

        Without a key the divergence is exact; with one it is estimated from random probes.
        Datetimes count from `time_origin` as in `sample`.
        """
        return self.log_prob_info(x, y, key=key, mask=mask, time_origin=time_origin).value

    @renamed_arguments(origin="time_origin")
    def log_prob_info(
        self,
        x: Any,
        y: Any = None,
        key: Key = None,
        mask: Any = None,
        flow: Flow | None = None,
        time_origin: Any = None,
        max_memory: int | None = None,
        progress: Progress = True,
    ) -> LogProb:
        """Log-density with its solver and probe errors."""
        law = self._unconditioned(x, time_origin)
        options = {"max_memory": max_memory, "progress": progress}
        return law.log_prob_info(x, y, key=key, mask=mask, flow=flow, **options)

    @renamed_arguments(origin="time_origin")
    def condition(
        self, x: Any, y: Any = None, noise: Any = 0.0, time_origin: Any = None
    ) -> Posterior:
        """Law given values y at x, any number of them, or a table; `noise` is a variance.

        One for all points, one a point, or the name of a table's column. On a manifold it is the
        time of the heat kernel around the true value. Datetimes count from `time_origin`, by
        default that of the first observation: give a storm's first moment if its age matters.
        """
        time_origin = read_time_origin(self.variables, time_origin)
        if is_table(x):
            x, y, noise, time_origin = read_observations(names_of(self, y), x, noise, time_origin)
        x, y, noise = known_rows(x, y, noise, self.noising.dim)
        observations = as_observations(x, y, noise, self.noising.manifold)
        check_columns(self.score, observations.x)
        self.noising.manifold.check("y of the context", observations.y)
        centre = common_centre(self, x)
        observations = in_model_units(self, observations, x, y, centre)
        warn_about_context(self, observations)
        return Posterior(self, observations, time_origin, centre)

    def with_variables(
        self, inputs: Any, outputs: Any, units: dict[str, str] | None = None
    ) -> Model:
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
        from geomndp.model.serialization import save

        save(self, path, metadata, dtype)

    def _unconditioned(self, x, time_origin) -> Posterior:
        x = as_float("x", read_inputs(names_of(self), x).x if is_table(x) else unmasked(x))
        d = x.shape[1] if x.ndim == 2 else 1
        nothing = (jnp.zeros((0, dim), dtype=x.dtype) for dim in (d, self.noising.dim))
        return self.condition(*nothing, time_origin=time_origin)
