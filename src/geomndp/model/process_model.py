"""Processes as models: in the data's units, with names, a record of training and files."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from geomndp._training_log import TrainingSupport
from geomndp.data import Normaliser
from geomndp.geometry import AbstractManifold, Euclidean
from geomndp.model.base import AbstractModel, CheckedContext
from geomndp.model.model import check_domain, check_names, check_scales
from geomndp.model.outside_training import warn_about_context
from geomndp.model.process_posterior import ProcessPosterior
from geomndp.model.summary import describe_process_model
from geomndp.model.units import in_model_units
from geomndp.predictive import AbstractProcess
from geomndp.samplers.problem import no_observations
from geomndp.tables import Variables


class ProcessModel(AbstractModel):
    """A process, such as a fitted `GP` or a neural process, in the data's units, as a `Model` is.

    Args:
        process: Law of functions in the model's units, with its number of outputs as `dim`.
        normaliser: Change between the data's units, which every method takes, and the model's.
        variables: Names and units (see `with_variables`): x and y may then come as one table.
        support: What the process was fitted to: requests outside of it warn.
        report: How the process was chosen and what was measured then, as text.

    Raises:
        ValueError: If the process is one in the data's units already, or names do not fit it.

    Example:
        ```python
        model = gn.ProcessModel(gn.gp.GP(kernel, noise=0.01), gn.data.Normaliser.fit(functions))
        low, high = model.condition(xc, yc).quantile([0.05, 0.95], x)
        model.save("runs/gp")
        ```
    """

    process: AbstractProcess
    normaliser: Normaliser | None = None
    variables: Variables | None = None
    support: TrainingSupport | None = None
    report: str | None = eqx.field(default=None, static=True)

    def __check_init__(self) -> None:
        if isinstance(self.process, AbstractModel) or not hasattr(self.process, "dim"):
            got = type(self.process).__name__
            raise ValueError(f"expected a process in the model's units such as a GP, got {got}")
        check_names(self.variables, self.manifold)
        check_scales(self.normaliser, self.manifold)
        check_domain(self.variables, self.normaliser)

    def __repr__(self) -> str:
        return describe_process_model(self)

    @property
    def manifold(self) -> AbstractManifold:
        process: Any = self.process
        return Euclidean(process.dim)

    @property
    def input_dim(self) -> int | None:
        if self.variables is not None:
            return self.variables.input_dim
        known = getattr(self.process, "input_dim", None)
        return known if self.support is None else len(self.support.inputs)

    @property
    def num_relative_inputs(self) -> int:
        return getattr(self.process, "num_relative_inputs", 0)

    @property
    def num_groups(self) -> int:
        return self.manifold.ambient_dim

    @property
    def learnt(self) -> bool:
        return getattr(self.process, "learnt", False)

    @property
    def dtype(self) -> Any:
        return jnp.dtype("float64")

    def condition(self, *args: Any, **options: Any) -> ProcessPosterior:
        """Law of the process given observations; arguments as those of `Model.condition`."""
        with jax.enable_x64(True):
            return super().condition(*args, **options)

    def posterior(self, context: CheckedContext | None, time_origin: str | None):
        if context is None:
            process: Any = self.process
            nothing = no_observations(self.input_dim or 1, process.dim, self.dtype)
            return ProcessPosterior(self, nothing, time_origin)
        x, y, observations = context
        observations = in_model_units(self, observations, x, y, ())
        warn_about_context(self, observations)
        return ProcessPosterior(self, observations, time_origin)
