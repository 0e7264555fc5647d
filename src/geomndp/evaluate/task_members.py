"""The laws that a process consists of, each with the tasks as it can take them."""

from __future__ import annotations

import dataclasses
from contextlib import nullcontext
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np

from geomndp.data import Normaliser
from geomndp.evaluate.padded_tasks import PaddedTasks, without_impossible
from geomndp.evaluate.table_tasks import TableTask
from geomndp.model import ChartModel, MixtureProcess, ProcessModel
from geomndp.model.output_units import needs_float64
from geomndp.model.point_distances import coarse_rounding
from geomndp.model.process_calls import with_array_parameters


def members_of(process: Any) -> tuple[tuple[Any, ...], np.ndarray]:
    """The members of a mixture, also of one in local maps, and the logarithms of their weights.

    Args:
        process: What is evaluated.

    Returns:
        Laws in the data's units, the process itself where it is no mixture.
    """
    if isinstance(process, MixtureProcess):
        return process.members, np.asarray(process.log_weights, np.float64)
    if isinstance(process, ChartModel) and isinstance(process.flat, MixtureProcess):
        flat, log_weights = members_of(process.flat)
        return tuple(eqx.tree_at(lambda m: m.flat, process, each) for each in flat), log_weights
    return (process,), np.zeros(1)


def is_exact(process: Any) -> bool:
    """Whether a law, in a local map or not, is a process of closed forms."""
    return isinstance(getattr(process, "flat", process), ProcessModel)


class Member(NamedTuple):
    """One law of a mixture on tasks of one shape.

    Attributes:
        process: The law.
        tasks: The tasks as it can take them.
        altered: Which tasks lack context values that it holds impossible.
    """

    process: Any
    tasks: list[TableTask]
    altered: np.ndarray

    @staticmethod
    def of(process: Any, tasks: list[TableTask]) -> Member:
        """The tasks of a member, without impossible context values."""
        own = [without_impossible(task, process) for task in tasks]
        altered = np.array([a is not b for a, b in zip(own, tasks, strict=True)])
        return Member(_with_room(_with_arrays(process), own), own, altered)

    @property
    def exact(self) -> bool:
        """Whether it is a process of closed forms."""
        return is_exact(self.process)

    def padded(self) -> PaddedTasks:
        """The tasks as arrays of one shape."""
        return PaddedTasks.of(self.tasks)

    def precision(self) -> Any:
        """Float64 for exact processes and values that need it; networks as they were trained."""
        wide = self.exact or needs_float64(getattr(self.process, "normaliser", None))
        wide = wide or any(map(_has_far_inputs, self.tasks))
        return jax.enable_x64(True) if wide else nullcontext()


def _has_far_inputs(task: TableTask) -> bool:
    """Whether float32 would move inputs of a task, seconds since 1970 for example, to others."""
    x = np.concatenate([task.context.x, task.target.x])
    return coarse_rounding(x, np.float32) is not None


def _with_arrays(process: Any) -> Any:
    """Numbers of exact processes as arrays: members that differ in these share a program."""
    if isinstance(process, ChartModel):
        return eqx.tree_at(lambda model: model.flat, process, _with_arrays(process.flat))
    if not isinstance(process, ProcessModel):
        return process
    arrays = with_array_parameters(process.process)
    return eqx.tree_at(lambda model: model.process, process, arrays)


def _with_room(process: Any, tasks: list[TableTask]) -> Any:
    """A neural process on a grid with room for the points of every task by itself."""
    if not isinstance(process, ProcessModel) or not hasattr(process.process, "with_room"):
        return process
    resized: Any = process.process
    units = process.normaliser or Normaliser()
    for task in tasks:
        resized = resized.with_room(units.forward_x(task.context.x), units.forward_x(task.target.x))
    return dataclasses.replace(process, process=resized)
