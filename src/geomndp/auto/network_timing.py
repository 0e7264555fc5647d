"""Which networks are trained, how large they are, and how long: by a timing on this machine."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax.random as jr
import numpy as np
import optax

from geomndp._types import PRNGKeyArray
from geomndp.auto.budget import NetworkSchedule, RunPlan, network_schedule
from geomndp.auto.cosine_adam import cosine_adam
from geomndp.auto.held_out import with_array_parameters
from geomndp.auto.network_candidates import NetworkCandidate, time_network
from geomndp.auto.network_sizes import resized
from geomndp.auto.network_stage import fold_tasks
from geomndp.auto.plan import TrainingPlan
from geomndp.auto.split import ValidationSplit
from geomndp.auto.units import plan_in_units
from geomndp.auto.validation import ValidationTasks
from geomndp.data import Normaliser
from geomndp.gp import GP
from geomndp.nets import BiDimensionalAttention, RelativeAttention
from geomndp.score import NetworkScore

MIN_SECONDS = 30.0
"""Less time than this is not enough to compile and train a network."""
FEW_FUNCTIONS = 200
"""With fewer functions the network that corrects a process comes first."""


class GaussianBase(NamedTuple):
    """Gaussian processes that a network may correct, one per fold, and their units."""

    processes: tuple[GP, ...]
    units: Normaliser


class NetworkFamily(NamedTuple):
    """A network with the process that it corrects, which differs from fold to fold.

    Attributes:
        name: Its name in the report.
        plan: Its plan.
        optimiser: Its optimiser.
        bases: The process of every fold; None for a network from scratch.
        key: Random key of the parameters.
    """

    name: str
    plan: TrainingPlan
    optimiser: optax.GradientTransformation
    bases: tuple[GP, ...] | None
    key: PRNGKeyArray

    def on_fold(self, fold: int) -> NetworkCandidate:
        """The candidate of a fold."""
        return self.with_base(None if self.bases is None else self.bases[fold])

    def with_base(self, base: GP | None) -> NetworkCandidate:
        """The candidate that corrects a process, or none."""
        plan = self.plan
        if base is not None:
            assert isinstance(plan.model.score, NetworkScore)
            score = plan.model.score.with_base(with_array_parameters(base), key=self.key)
            plan = dataclasses.replace(plan, model=dataclasses.replace(plan.model, score=score))
        return NetworkCandidate(self.name, plan, self.optimiser, base)


def network_families(
    plan: TrainingPlan, base: GaussianBase | None, seconds: float, *, key: PRNGKeyArray
) -> list[NetworkFamily]:
    """Networks of a plan, in the order in which they are tried.

    Args:
        plan: A plan.
        base: Processes to correct, and the units in which values are nearest to them.
        seconds: Time of all networks together.
        key: Random key of the parameters.

    Returns:
        The network from scratch, and one that corrects the process where it can.
    """
    plan = plan if base is None else plan_in_units(plan, base.units)
    plan = resized(plan, 0.4 * seconds, key=key)
    optimiser = cosine_adam(plan.peak_learning_rate)
    families = [NetworkFamily("network", plan, optimiser, None, key)]
    score = plan.model.score
    corrects = isinstance(score, NetworkScore) and isinstance(
        score.net, RelativeAttention | BiDimensionalAttention
    )
    if base is not None and corrects:
        families.append(NetworkFamily("corrected GP", plan, optimiser, base.processes, key))
        if len(plan.functions.x if plan.functions else ()) < FEW_FUNCTIONS:
            families.reverse()
    return families


def network_budgets(
    families: Sequence[NetworkFamily],
    splits: Sequence[ValidationSplit],
    tasks: ValidationTasks,
    run: RunPlan,
    *,
    seconds: Callable[[], float],
    key: PRNGKeyArray,
) -> list[tuple[NetworkFamily, NetworkSchedule]]:
    """Time the networks, and divide what is left between those that fit.

    Args:
        families: Networks in the order of promise.
        splits: The splits.
        tasks: Tasks of all splits.
        run: Decisions of the run: the timing of a run that is resumed is read from there.
        seconds: Tells how much time is left.
        key: Random key.

    Returns:
        Networks to train, with their schedules.
    """
    most = max(len(split.held_out) for split in splits)

    def decide() -> dict[str, list[int]]:
        timings = {}
        for number, family in enumerate(families):
            if seconds() < MIN_SECONDS * (1 + number):
                break
            _, own = fold_tasks(tasks, splits[0], most)
            timings[family.name] = time_network(
                family.on_fold(0), splits[0].train, own, key=jr.fold_in(key, number)
            )
        share = seconds() / max(1, len(timings))
        num_functions = len(np.unique(fold_tasks(tasks, splits[0], most)[1].function))
        schedules = {
            name: network_schedule(
                share, timing, num_functions=num_functions, num_folds=len(splits)
            )
            for name, timing in timings.items()
        }
        return {name: list(schedule) for name, schedule in schedules.items()}

    decided = run.decide("networks", decide)
    schedules = {name: NetworkSchedule(*numbers) for name, numbers in decided.items()}
    return [
        (family, schedules[family.name])
        for family in families
        if family.name in schedules and schedules[family.name].steps
    ]
