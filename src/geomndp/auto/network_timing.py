"""Which networks are trained, how large they are, and how long: by a timing on this machine."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import optax

from geomndp._types import PRNGKeyArray
from geomndp.auto.budget import (
    MANY_REFIT_SHARE,
    REFIT_SHARE,
    NetworkSchedule,
    network_schedule,
)
from geomndp.auto.clock import FitClock
from geomndp.auto.cosine_adam import cosine_adam
from geomndp.auto.held_out import HeldOut, with_array_parameters
from geomndp.auto.held_out_pit import COST
from geomndp.auto.network_candidates import NetworkCandidate, NetworkTiming, time_network
from geomndp.auto.network_sizes import resized
from geomndp.auto.network_stage import fold_tasks
from geomndp.auto.plan import TrainingPlan
from geomndp.auto.run_plan import RunPlan
from geomndp.auto.split import ValidationSplit
from geomndp.auto.units import plan_in_units
from geomndp.auto.validation import ValidationTasks
from geomndp.data import Normaliser
from geomndp.gp import GP
from geomndp.nets import BiDimensionalAttention, RelativeAttention, Steerable2
from geomndp.score import NetworkScore

MIN_SECONDS = 45.0
"""Less time than this is not enough to compile and train a first network."""
FEW_FUNCTIONS = 40
"""Fewer functions than this teach a network from scratch nothing, not even beside other laws."""
MANY_FUNCTIONS = 1000
"""With as many functions the network from scratch comes first, and may take all of the time."""
FIRST_SHARE = 0.6
"""Share of the time for the first network, where there is a second."""


class GaussianBase(NamedTuple):
    """Gaussian processes that a network may correct.

    Attributes:
        name: Name of the candidate.
        processes: One process per fold.
        units: Their units.
        held_out: Log-densities of all tasks.
    """

    name: str
    processes: tuple[GP, ...]
    units: Normaliser
    held_out: HeldOut


class NetworkFamily(NamedTuple):
    """A network with the process that it corrects, which differs from fold to fold.

    Attributes:
        name: Its name in the report.
        plan: Its plan.
        optimiser: Its optimiser.
        base: What it corrects; None for a network from scratch.
        key: Random key of the parameters.
    """

    name: str
    plan: TrainingPlan
    optimiser: optax.GradientTransformation
    base: GaussianBase | None
    key: PRNGKeyArray

    @property
    def first_share(self) -> float:
        """Share of the time if it is the first of two networks."""
        return 1.0 if _many(self.plan) else FIRST_SHARE

    @property
    def refit_share(self) -> float:
        """Share of its time that is kept for the refit on all functions."""
        return MANY_REFIT_SHARE if _many(self.plan) else REFIT_SHARE

    def on_fold(self, fold: int) -> NetworkCandidate:
        """The candidate of a fold."""
        return self.with_base(None if self.base is None else self.base.processes[fold])

    def with_base(self, base: GP | None) -> NetworkCandidate:
        """The candidate that corrects a process, or none."""
        plan = self.plan
        if base is not None:
            assert isinstance(plan.model.score, NetworkScore)
            score = plan.model.score.with_base(with_array_parameters(base), key=self.key)
            plan = dataclasses.replace(plan, model=dataclasses.replace(plan.model, score=score))
        return NetworkCandidate(self.name, plan, self.optimiser, base)


def network_families(
    plan: TrainingPlan, base: GaussianBase, seconds: float, *, key: PRNGKeyArray
) -> list[NetworkFamily]:
    """Networks of a plan, in the order in which they are tried.

    Args:
        plan: A plan.
        base: Processes to correct, and the units in which values are nearest to them.
        seconds: Time of all networks together.
        key: Random key of the parameters.

    Returns:
        A network that corrects the process, and one from scratch where there are functions enough,
        or where no network can correct.
    """
    count, many = num_functions(plan), _many(plan)
    plan = plan_in_units(plan, base.units)
    plan = resized(plan, seconds if many else FIRST_SHARE * seconds, small=not many, key=key)
    optimiser = cosine_adam(plan.peak_learning_rate)
    families = []
    score = plan.model.score
    if isinstance(score, NetworkScore) and isinstance(
        score.net, RelativeAttention | BiDimensionalAttention | Steerable2
    ):
        families.append(NetworkFamily(f"corrected {base.name}", plan, optimiser, base, key))
    if count >= FEW_FUNCTIONS or not families:
        families.append(NetworkFamily("network", plan, optimiser, None, key))
    return families[::-1] if many else families


def num_functions(plan: TrainingPlan) -> int:
    """Functions of a plan."""
    return 0 if plan.functions is None else len(plan.functions.x)


def _many(plan: TrainingPlan) -> bool:
    return num_functions(plan) >= MANY_FUNCTIONS


class NetworkBudget(NamedTuple):
    """What is done with a network, and by when.

    Attributes:
        schedule: Its schedule; no steps where it is left out.
        timing: What it was decided by.
        end: Seconds of the clock at which its training ends.
        num_sampled: Held-out functions that it is sampled for.
        sampling: Seconds that this takes, compilation included.
    """

    schedule: NetworkSchedule
    timing: NetworkTiming
    end: float
    num_sampled: int
    sampling: float


LEFT_OUT = NetworkBudget(NetworkSchedule(0, 1, 0, 0, 0), NetworkTiming(0.0, 0.0), 0.0, 0, 0.0)
MAX_VALIDATING = 64
"""Held-out functions of a fold that validate a network at most."""
SAMPLED_FUNCTIONS = (4, 12)
"""Fewest and most held-out functions whose transforms are ranks among samples of a network."""
SAMPLING_SHARE = 0.08
"""Share of the time for these samples."""


def network_budget(
    family: NetworkFamily,
    splits: Sequence[ValidationSplit],
    tasks: ValidationTasks,
    run: RunPlan,
    clock: FitClock,
    *,
    kept: float,
    needed: float,
    share: float,
    key: PRNGKeyArray,
) -> NetworkBudget:
    """Time a network, and give it a share of what is left; decided once.

    Args:
        family: The network.
        splits: The splits.
        tasks: Tasks of all splits.
        run: Decisions of the run: those of a run that is resumed are read from there.
        clock: The clock.
        kept: Seconds that are kept for what follows the networks.
        needed: Seconds without which it is not even compiled.
        share: Its share of the time.
        key: Random key.

    Returns:
        The budget.
    """

    def decide() -> list:
        if clock.left() - kept < needed:
            return [list(part) if isinstance(part, tuple) else part for part in LEFT_OUT]
        most = min(MAX_VALIDATING, max(len(split.held_out) for split in splits))
        _, own = fold_tasks(tasks, splits[0], most)
        timing = time_network(family.on_fold(0), splits[0].train, own, key=key)
        count = len(np.unique(own.function))
        each = COST * timing.validation / count
        num_sampled = int(np.clip(SAMPLING_SHARE * clock.total / each, *SAMPLED_FUNCTIONS))
        sampling = timing.compilation + num_sampled * each
        options: dict[str, Any] = {"num_functions": count, "num_folds": len(splits)}
        options["refit_share"] = family.refit_share
        everything = clock.left() - kept - sampling
        seconds = share * everything
        schedule = network_schedule(seconds, timing, **options)
        if not schedule.steps:  # all of the time, or none
            seconds, schedule = everything, network_schedule(everything, timing, **options)
        end = clock.elapsed() + (1 - family.refit_share) * seconds
        return [list(schedule), list(timing), end, num_sampled, sampling]

    schedule, timing, *others = run.decide(family.name, decide)
    return NetworkBudget(NetworkSchedule(*schedule), NetworkTiming(*timing), *others)
