"""High-level model API: samples, posteriors given any observations, and log-likelihoods."""

from __future__ import annotations

import dataclasses
import os
from typing import Any, Unpack

import equinox as eqx
import jax.numpy as jnp

from geomndp import _validation
from geomndp._deprecated import renamed_arguments, renamed_attribute
from geomndp._types import Outputs, Scalar
from geomndp.data import Normaliser
from geomndp.likelihood import Flow
from geomndp.model.inputs import (
    Seed,
    as_observations,
    check_columns,
    check_names,
    check_scales,
    context_rows,
    names_of,
)
from geomndp.model.posterior import Key, Posterior, SampleOptions, no_observations
from geomndp.model.summary import describe_model
from geomndp.model.support import TrainingSupport, warn_about_context
from geomndp.model.units import common_centre, in_model_units
from geomndp.nets import AbstractNet, with_config
from geomndp.noising import AbstractNoising
from geomndp.predictive import AbstractPredictive, AbstractProcess, LogProb
from geomndp.samplers import Observations
from geomndp.score import AbstractScore, NetworkScore
from geomndp.tables import (
    Variables,
    is_table,
    name_variables,
    read_observations,
    read_time_origin,
)


@renamed_arguments(eps="t_min")
class Model(AbstractProcess, AbstractPredictive):
    """Law of functions: a noising and the score of what it noised.

    Args:
        noising: Forward process.
        score: Score of the noised law, exact or learnt.
        t_min: Smallest diffusion time, at which samples end and densities are given.
        normaliser: Change between the data's units, which every method takes, and the model's.
        variables: Names and units (see `with_variables`): x and y may then come as one table.
        support: What training saw: requests outside of it warn.
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
    def condition(
        self,
        x: Any = None,
        y: Any = None,
        noise: Any = 0.0,
        mask: Any = None,
        time_origin: Any = None,
    ) -> Posterior:
        """Law of the model's functions given observations; without any, the prior.

        Args:
            x: Inputs of the observations, shape (n, d) or (n,), any number of them; or a table that
                holds inputs and values.
            y: Observed values, shape (n, p) or (n,).
            noise: Variance of the observation noise: one for all points, one per point, or the name
                of a table's column. On a manifold it is the time of the heat kernel around the true
                value.
            mask: 1 for observations that count, 0 for padding, shape (n,).
            time_origin: Moment from which datetimes count, by default that of the first
                observation: give a storm's first moment if its age matters.

        Returns:
            The posterior, to sample from and to compute log-densities.

        Raises:
            ValueError: If observations do not fit the model.

        Example:
            `model.condition([0.0, 1.0], [0.3, -0.2], noise=0.01).sample(x, key=0)`
        """
        time_origin = read_time_origin(self.variables, time_origin)
        if x is None:
            return Posterior(self, self._nothing(y, mask), time_origin)
        if is_table(x):
            x, y, noise, time_origin = read_observations(names_of(self, y), x, noise, time_origin)
        x, y, noise, mask = context_rows(x, y, noise, mask, self.noising.dim)
        observations = as_observations(x, y, noise, mask, self.noising.manifold)
        check_columns(self.score, observations.x)
        self.noising.manifold.check("y of the context", observations.y, mask)
        centre = common_centre(self, x, mask)
        observations = in_model_units(self, observations, x, y, centre)
        warn_about_context(self, observations)
        return Posterior(self, observations, time_origin, centre)

    @renamed_arguments(origin="time_origin")
    def sample(
        self,
        x: Any,
        *,
        key: Seed,
        num_samples: int = 16,
        time_origin: Any = None,
        **options: Unpack[SampleOptions],
    ) -> Any:
        """Draw functions of the prior: `condition(time_origin=...).sample(x, ...)`.

        Args:
            x: Inputs, shape (n, d) or (n,), or a table.
            key: Random key or seed.
            num_samples: Number s of draws.
            time_origin: Moment from which datetimes count, by default the earliest of them.
            **options: `sampler`, `max_memory` and `progress` as in `Posterior.sample`.

        Returns:
            Samples of shape (s, n, p), or a table at the locations of a table.

        Example:
            `model.sample(np.linspace(-2, 2, 50), key=0, num_samples=4)`
        """
        prior = self.condition(time_origin=time_origin)
        return prior.sample(x, key=key, num_samples=num_samples, **options)

    @renamed_arguments(origin="time_origin")
    def log_prob(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, x: Any, y: Any = None, key: Key = None, mask: Any = None, time_origin: Any = None
    ) -> Scalar:
        """Joint log-density of y at x; arguments as those of `log_prob_info`."""
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
        **options: Any,
    ) -> LogProb:
        """Joint log-density of y at x under the prior, with its solver and probe errors.

        Args:
            x: Inputs, shape (n, d) or (n,), or a table that holds y too.
            y: Values, shape (n, p) or (n,), in the data's units.
            key: Without it the divergence is exact; with one it is estimated from random probes.
            mask: 1 for rows that count, 0 for others, shape (n,).
            flow: Solver, steps and divergence; by default `Flow()`.
            time_origin: Moment from which datetimes count, by default the earliest of them.
            **options: `max_memory` and `progress` as in `Posterior.log_prob_info`.

        Returns:
            Nats, in the data's units, over all rows that count.
        """
        prior = self.condition(time_origin=time_origin)
        return prior.log_prob_info(x, y, key=key, mask=mask, flow=flow, **options)

    def mean_and_std(self, x: Any, *, key: Key = None) -> tuple[Outputs, Outputs]:
        """Mean and standard deviation of the prior, as `Posterior.mean_and_std`."""
        return self.condition().mean_and_std(x, key=key)

    def with_variables(
        self, inputs: Any, outputs: Any, units: dict[str, str] | None = None
    ) -> Model:
        """Give inputs and outputs the names (and units) under which tables have them.

        Args:
            inputs: Name or names of the inputs.
            outputs: Name or names of the outputs; on the sphere latitude and longitude in
                degrees.
            units: Units (CF) by name. Those of time make a model read datetimes: "days" counts
                from the first observation, "days since 2000-01-01" does not.

        Returns:
            The same model, which takes tables too.

        Example:
            `model.with_variables("time", "level", units={"time": "days", "level": "m"})`
        """
        codomain = "real" if self.noising.manifold.flat else "sphere"
        names = name_variables(inputs, outputs, codomain, units)
        return dataclasses.replace(self, variables=names)

    def save(
        self, path: str | os.PathLike, metadata: dict | None = None, dtype: str | None = None
    ) -> None:
        """Write the model as one file.

        Args:
            path: File, with or without the ending `.safetensors`; folders are made.
            metadata: Anything that JSON can hold; travels along.
            dtype: "float16" or "bfloat16" stores the parameters in half the size; loading gives
                the network's own dtype back.

        Raises:
            ValueError: If the file could not be loaded again; nothing is written then.
        """
        from geomndp.model.serialization import save

        save(self, path, metadata, dtype)

    def _nothing(self, y: Any, mask: Any) -> Observations:
        """No observations; those of the targets' dtype and columns take their place."""
        if y is not None or mask is not None:
            raise ValueError("expected x of the observations beside y and mask, got none")
        net = self.score.net if isinstance(self.score, NetworkScore) else None
        input_dim = net.input_dim if isinstance(net, AbstractNet) else 1
        return no_observations(input_dim, self.noising.dim, jnp.result_type(float))


def in_full_precision(model: Model) -> Model:
    """A network with its parameters, computed in the dtype of the values and by plain JAX."""
    score = model.score
    if not isinstance(score, NetworkScore) or not isinstance(score.net, AbstractNet):
        raise ValueError("expected a model with a NetworkScore of geomndp.nets")
    fast = {"compute_dtype", "attention_backend"} & set(score.net.config.to_dict())
    net = with_config(score.net, **dict.fromkeys(fast))
    return dataclasses.replace(model, score=dataclasses.replace(score, net=net))
