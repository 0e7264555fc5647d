"""What all models share: laws of functions in the data's units, arrays or tables in and out."""

import abc
import dataclasses
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from geomndp._deprecated import renamed_arguments
from geomndp._training_log import TrainingSupport
from geomndp._types import Scalar
from geomndp.data import Normaliser
from geomndp.geometry import AbstractManifold
from geomndp.marginals import AbstractMarginals
from geomndp.model.inputs import (
    Seed,
    as_observations,
    check_columns,
    check_whole_rows,
    context_rows,
    names_of,
)
from geomndp.model.many import ConditionedMany
from geomndp.model.named_predictive import AbstractNamedPredictive, Key
from geomndp.predictive import MOMENT_SAMPLES, AbstractProcess, LogProb
from geomndp.samplers import Observations
from geomndp.tables import is_table, name_variables, read_observations, read_time_origin

if TYPE_CHECKING:  # to pyright an AbstractVar is a field, the first of every subclass
    from typing import ClassVar as AbstractVar
else:
    from equinox import AbstractVar


class CheckedContext(NamedTuple):
    """Checked observations in the data's units: as they came, and as arrays with noise and mask."""

    x: Any
    y: Any
    observations: Observations


class AbstractModel(AbstractProcess, AbstractNamedPredictive, ConditionedMany):
    """A law of functions that is conditioned, asked, named and saved in the data's units."""

    normaliser: AbstractVar[Normaliser | None]
    support: AbstractVar[TrainingSupport | None]
    report: AbstractVar[str | None]

    @property
    @abc.abstractmethod
    def manifold(self) -> AbstractManifold:
        """Where values lie."""

    @property
    @abc.abstractmethod
    def input_dim(self) -> int | None:
        """Number of inputs, None where any number will do."""

    @property
    @abc.abstractmethod
    def num_relative_inputs(self) -> int:
        """How many leading inputs enter through their differences only."""

    @property
    def num_groups(self) -> int:
        """Groups of outputs that may be observed apart, 1 where none may."""
        return 1

    @property
    def network(self) -> Any:
        """The network that was trained, None where there is none."""
        return None

    @property
    def network_base(self) -> Any:
        """The process that the network corrects, None where there is none."""
        return None

    @property
    def learnt(self) -> bool:
        """Whether answers depend on how many and how dense points were in training."""
        return True

    @property
    def dtype(self) -> Any:
        """Dtype of the computation, None for that of the data."""
        return None

    @abc.abstractmethod
    def posterior(self, context: CheckedContext | None, time_origin: str | None) -> Any:
        """Law given checked observations in the data's units, or none.

        Args:
            context: The observations.
            time_origin: Moment from which datetimes count.

        Returns:
            The posterior.
        """

    @renamed_arguments(origin="time_origin")
    def condition(
        self,
        x: Any = None,
        y: Any = None,
        noise: Any = 0.0,
        mask: Any = None,
        time_origin: Any = None,
    ) -> Any:
        """Law of the model's functions given observations; without any, the prior.

        Args:
            x: Inputs of observations, shape (n, d) or (n,); or a table of inputs and values.
            y: Observed values, shape (n, p) or (n,).
            noise: Variance of the observation noise beyond that of the training data: one for all
                points, one per point, or a table's column by name; (n, p) if outputs are observed
                apart. On a manifold the time of the heat kernel, on the sphere radians squared.
            mask: 1 for observations that count, 0 for padding, shape (n,), or (n, p) where single
                outputs are missing. NaN in a table's output is missing too.
            time_origin: Moment from which datetimes count, by default that of the first
                observation: give a storm's first moment if its age matters.

        Returns:
            The posterior, to sample from and to compute log-densities.

        Raises:
            ValueError: If observations do not fit the model.

        Example:
            `model.condition([0.0, 1.0], [0.3, -0.2], noise=0.01).sample(x, key=0)`
        """
        time_origin = None if time_origin is None else read_time_origin(self.variables, time_origin)
        if x is None:
            if y is not None or mask is not None:
                raise ValueError("expected x of the observations beside y and mask, got none")
            return self.posterior(None, time_origin)
        if is_table(x):
            names = names_of(self, y, x, mask)
            x, y, noise, time_origin = read_observations(names, x, noise, time_origin)
            check_whole_rows(y, self.num_groups)
        manifold, groups = self.manifold, self.num_groups
        x, y, noise, mask = context_rows(x, y, noise, mask, manifold.ambient_dim, groups)
        observations = as_observations(x, y, noise, mask, manifold, self.dtype, groups)
        check_columns(self.input_dim, observations.x)
        manifold.check("y of the context", observations.y, mask)
        return self.posterior(CheckedContext(x, y, observations), time_origin)

    @renamed_arguments(origin="time_origin")
    def sample(
        self, x: Any, *, key: Seed, num_samples: int = 16, time_origin: Any = None, **options: Any
    ) -> Any:
        """Draw functions of the prior: `condition(time_origin=...).sample(x, ...)`.

        Args:
            x: Inputs, shape (n, d) or (n,), or a table.
            key: Random key or seed.
            num_samples: Number s of draws.
            time_origin: Moment from which datetimes count, by default the earliest of them.
            **options: Of the posterior: `sampler`, `max_memory` and `progress` of a `Model`.

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
        time_origin: Any = None,
        **options: Any,
    ) -> LogProb:
        """Joint log-density of y at x under the prior, with its solver and probe errors.

        Args:
            x: Inputs, shape (n, d) or (n,), or a table that holds y too.
            y: Values, shape (n, p) or (n,), in the data's units.
            key: Without it the divergence of a solve is exact; with one it is estimated from random
                probes, which is cheaper for many points. Not used by laws in closed form.
            mask: 1 for values that count, 0 for others, shape (n,) or (n, p).
            time_origin: Moment from which datetimes count, by default the earliest of them.
            **options: Of the posterior: `flow`, `max_memory` and `progress` of a `Model`.

        Returns:
            Nats, in the data's units, over all rows that count.
        """
        prior = self.condition(time_origin=time_origin)
        return prior.log_prob_info(x, y, key=key, mask=mask, **options)

    @property
    def exact_marginals(self) -> bool:
        return self.condition().exact_marginals

    def marginals(
        self, x: Any, *, key: Key = None, num_samples: int = MOMENT_SAMPLES
    ) -> AbstractMarginals:
        """Law of every value of the prior by itself, as that of its posterior."""
        return self.condition().marginals(x, key=key, num_samples=num_samples)

    def with_variables(
        self, inputs: Any, outputs: Any, units: dict[str, str] | None = None, domain: str = "real"
    ) -> Any:
        """Give inputs and outputs the names (and units) under which tables have them.

        Args:
            inputs: Name or names of the inputs.
            outputs: Name or names of the outputs; on the sphere latitude and longitude.
            units: Units (CF) by name. Those of time make a model read datetimes: "days" counts
                from the first observation, "days since 2000-01-01" does not.
            domain: "sphere": the first inputs are latitude and longitude, x has unit vectors.

        Example:
            `model.with_variables("time", "level", units={"time": "days", "level": "m"})`
        """
        codomain = "real" if self.manifold.flat else "sphere"
        names = name_variables(inputs, outputs, codomain, units, domain)
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

        save(self, path, metadata, dtype)  # pyright: ignore[reportArgumentType]
