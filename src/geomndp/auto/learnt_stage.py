"""The networks of a selection: timed, trained and measured one after the other, refitted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import jax.random as jr

from geomndp._types import PRNGKeyArray
from geomndp.auto.clock import FitClock
from geomndp.auto.early_stopping import Deadline
from geomndp.auto.gaussian_stage import GaussianStage
from geomndp.auto.network_stage import (
    TrainedNetwork,
    refit_network,
    refit_steps,
    train_network,
)
from geomndp.auto.network_timing import (
    MANY_FUNCTIONS,
    MIN_SECONDS,
    SAMPLED_FUNCTIONS,
    NetworkBudget,
    NetworkFamily,
    network_budget,
    network_families,
    num_functions,
)
from geomndp.auto.plan import TrainingPlan
from geomndp.auto.run_plan import RunPlan
from geomndp.auto.split import FEW_FUNCTIONS, ValidationSplit
from geomndp.auto.units import plan_in_units
from geomndp.model import Model

FILES_SHARE = 0.02
"""Share of the time after a refit, for the files."""


class LearntStage:
    """Trained networks by name.

    Attributes:
        networks: The networks.
        num_sampled: Held-out functions whose transforms are ranks among samples of a network.
    """

    def __init__(
        self,
        key: PRNGKeyArray,
        run: RunPlan,
        clock: FitClock,
        folder: Path | None,
        log: Callable[[str], None],
    ):
        """Start without any.

        Args:
            key: Random key.
            run: Decisions of the run.
            clock: The clock.
            folder: The run's folder; None keeps nothing.
            log: Called with a line on the way.
        """
        self.networks: dict[str, TrainedNetwork] = {}
        self.num_sampled = SAMPLED_FUNCTIONS[1]
        self._families: dict[str, NetworkFamily] = {}
        self._key, self._run, self._clock = key, run, clock
        self._folder, self._log = folder, log
        self._splits: Sequence[ValidationSplit] = ()

    def run(self, plan: TrainingPlan, gaussians: GaussianStage, kept: float) -> None:
        """Train and measure the networks for which there is time, one after the other.

        Args:
            plan: The plan.
            gaussians: The simple candidates.
            kept: Seconds for what follows, without the refits of networks.
        """
        clock, base = self._clock, gaussians.base()
        # Every fold takes a training: where it holds out enough, the first has to do.
        independent = num_functions(plan) if plan.groups is None else len(set(plan.groups))
        few = independent < FEW_FUNCTIONS and num_functions(plan) < MANY_FUNCTIONS
        self._splits = gaussians.splits if few else gaussians.splits[:1]
        # Sizes follow from the time that was left when they were chosen first.
        seconds = self._run.decide("network_seconds", lambda: clock.left() - kept)
        families = network_families(plan, base, seconds, key=jr.fold_in(self._key, 0))
        needed = MIN_SECONDS
        for number, family in enumerate(families):
            share = family.first_share if number + 1 < len(families) else 1.0
            keys = [jr.fold_in(jr.fold_in(self._key, i), number) for i in (1, 2)]
            options = {"kept": kept, "needed": needed, "share": share, "key": keys[0]}
            splits, tasks = self._splits, gaussians.tasks
            with clock.part(family.name):
                budget = network_budget(family, splits, tasks, self._run, clock, **options)
                if budget.schedule.steps:
                    kept += self._train(family, budget, gaussians, keys[1])
            if not budget.schedule.steps:
                break  # another of this size, which would have to be compiled first, is no faster
            needed = 2 * budget.timing.compilation + MIN_SECONDS / 2  # to sample it, too

    def _train(
        self,
        family: NetworkFamily,
        budget: NetworkBudget,
        gaussians: GaussianStage,
        key: PRNGKeyArray,
    ) -> float:
        """Train a network; the seconds that its refit and its transforms will take."""
        clock, best, splits = self._clock, gaussians.best, self._splits
        line = gaussians.mean(gaussians.held_out[best])

        def log(text: str) -> None:
            clock.save()
            self._log(f"{text} ({best} {line:.3f})")

        def deadline(name: str) -> Deadline:
            return Deadline(self._run, f"end of {name}", lambda: budget.end - clock.elapsed())

        network = train_network(
            family.on_fold,
            splits,
            gaussians.tasks,
            budget.schedule,
            exact=None if family.base is None else family.base.held_out,
            deadline=deadline,
            key=key,
            folder=self._folder,
            log=log,
        )
        if network is None:
            self._log(f"{family.name}: left out")
            return 0.0
        self.networks[family.name], self._families[family.name] = network, family
        count = num_functions(gaussians.plan)
        steps = min(refit_steps(network, len(splits[0].train), count), budget.schedule.refit_steps)
        self.num_sampled = min(self.num_sampled, budget.num_sampled)
        return budget.sampling + steps * budget.timing.step

    def refit(self, name: str, gaussians: GaussianStage, count: int) -> Model:
        """A network trained on all functions, with the process that it corrects.

        Args:
            name: Its name.
            gaussians: The simple candidates.
            count: Number of functions.

        Returns:
            The model in the data's units.
        """
        family, clock = self._families[name], self._clock
        base = None
        if family.base is not None:
            refitted = gaussians.refit(family.base.name)
            base = refitted.law()
            family = family._replace(plan=plan_in_units(family.plan, refitted.units))
        end, kept = f"end of the refit of {name}", FILES_SHARE * clock.total
        return refit_network(
            self.networks[name],
            family.with_base(base),
            len(gaussians.splits[0].train),
            count,
            deadline=Deadline(self._run, end, lambda: clock.left() - kept),
            key=jr.fold_in(self._key, 4),
            folder=None if self._folder is None else self._folder / name / "refit",
        )
