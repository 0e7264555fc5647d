"""Fit the candidates within a budget of time, choose by held-out likelihood, refit, report."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import jax.random as jr
import numpy as np

from geomndp.auto.budget import gaussian_seconds
from geomndp.auto.choice import Choice, choose
from geomndp.auto.clock import FitClock
from geomndp.auto.gaussian_stage import GaussianStage
from geomndp.auto.learnt_stage import LearntStage
from geomndp.auto.outcome import assemble, describe, held_out_transforms
from geomndp.auto.plan import TrainingPlan
from geomndp.auto.report import SelectionReport
from geomndp.auto.run_plan import RunPlan
from geomndp.auto.split import ValidationSplit, split_functions
from geomndp.auto.track_plan import plan_in_maps
from geomndp.auto.validation import MAX_FUNCTIONS, validation_tasks
from geomndp.model._compilation_cache import use_compilation_cache
from geomndp.model._jit import free_programs
from geomndp.model.base import AbstractModel
from geomndp.train.lock import hold

RESERVED_SHARE = 0.06
"""Share of the time for calibration, files and the unforeseen."""


def select(
    plan: TrainingPlan,
    *,
    minutes: float,
    seed: int,
    directory: Any = None,
    notes: dict[str, Any] | None = None,
    quiet: bool = False,
) -> tuple[AbstractModel, SelectionReport]:
    """Fit, compare, choose, refit.

    Args:
        plan: A plan of `gn.build`.
        minutes: Time for everything.
        seed: Seed of everything.
        directory: Folder for `plan.json`, checkpoints and the model.
        notes: Metadata (JSON) to save with the model.
        quiet: Whether to print nothing on the way.

    Returns:
        The chosen law in the data's units, and the report.

    Raises:
        ValueError: If the plan has no functions, or the folder holds another run.
        FolderInUse: If another process fits in the folder.
    """
    folder = None if directory is None else Path(directory)
    with nullcontext() if folder is None else hold(folder):
        selection = Selection(plan, minutes, seed, folder, _silent if quiet else _print)
        selection.fit_simple()
        selection.fit_networks()
        choice = selection.choose()
        transforms = held_out_transforms(selection, choice)
        members = selection.refit(choice)
        report = describe(selection, choice, transforms)
        law = assemble(members, report)
        if selection.plan.maps is not None:
            law = selection.plan.maps.model(law)
        if folder is not None:
            law.save(folder / "model", {**(notes or {}), "selection": report.as_json()})
    selection.log(report.sentence())
    return law, report


def _print(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _silent(line: str) -> None:
    """Say nothing."""


def _digest(plan: TrainingPlan) -> str:
    """Hash of the functions of a plan, of what was chosen for them and how many may validate."""
    words = f"{plan.description} {plan.groups} {plan.ordered} {MAX_FUNCTIONS}"
    digest = hashlib.sha256(words.encode())
    for values in (plan.functions or ())[:3]:
        digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()[:16]


class Selection:
    """One fit by selection: its data, its clock and what was found so far.

    Attributes:
        splits: Which functions are fitted and held out, fold by fold.
        tasks: Validation tasks of all folds.
        gaussians: The simple candidates.
        learnt: The networks.
        clock: The clock.
    """

    def __init__(
        self,
        plan: TrainingPlan,
        minutes: float,
        seed: int,
        folder: Path | None,
        log: Callable[[str], None],
    ):
        """Divide the functions and draw the validation tasks.

        Args:
            plan: A plan with functions.
            minutes: Time for everything.
            seed: Seed of everything.
            folder: The run's folder; None keeps nothing.
            log: Called with a line on the way.
        """
        if plan.functions is None:
            raise ValueError("expected a plan with functions to choose by, got none")
        use_compilation_cache()
        free_programs()
        self.clock = FitClock(60 * minutes, folder)
        self.plan, self.seed, self.folder, self.log = plan, seed, folder, log
        self.key = jr.key(seed)
        x, y, mask = plan.functions[:3]
        self.count = len(x)
        settings = {"minutes": minutes, "seed": seed, "functions": self.count}
        self.run = RunPlan(folder, {**settings, "data": _digest(plan)})
        self.splits = self._split()
        rows = np.concatenate([split.held_out for split in self.splits])
        about = {"num_inputs": plan.functions.variables.num_inputs, "groups": plan.groups}
        self.tasks = validation_tasks(x, y, mask, rows, seed=seed, **about)
        # Functions of one point validate nothing, nor does a split that holds out no others.
        self.splits = tuple(
            s for s in self.splits if np.isin(s.held_out, self.tasks.function).any()
        )
        if plan.functions.variables.codomain == "sphere":
            self.plan = plan = plan_in_maps(plan, self.splits[0], self.tasks, self.run, seed=seed)
            self.tasks = plan.maps.tasks(self.tasks)
        self.gaussians = GaussianStage(plan, self.splits, self.tasks, seed)
        self.learnt = LearntStage(self.key, self.run, self.clock, folder, log)
        self._kept = RESERVED_SHARE * self.clock.total

    def _split(self) -> tuple[ValidationSplit, ...]:
        plan, count = self.plan, self.count

        def decide() -> list[list[int]]:
            splits = split_functions(
                count, seed=self.seed, groups=plan.groups, ordered=plan.ordered
            )
            return [split.held_out.tolist() for split in splits]

        held_out = [np.asarray(rows) for rows in self.run.decide("held_out", decide)]
        every = np.arange(count)
        return tuple(ValidationSplit(np.setdiff1d(every, rows), rows) for rows in held_out)

    def fit_simple(self) -> None:
        """Fit and measure the simple candidates."""
        end = gaussian_seconds(self.clock.total)
        with self.clock.part("simple models"):
            self.gaussians.run(self.run, lambda: end - self.clock.elapsed())
        self.splits, self.tasks = self.gaussians.splits, self.gaussians.tasks
        # A refit takes about as long as the fit of a split.
        self._kept += self.clock.parts["simple models"] / (1 + len(self.splits))
        best = self.gaussians.best
        nats = self.gaussians.mean(self.gaussians.held_out[best])
        self.log(f"{best}: held-out {nats:.3f} nats per target value")

    def fit_networks(self) -> None:
        """Train and measure the networks for which there is time, one after the other."""
        self.learnt.run(self.plan, self.gaussians, self._kept)

    def choose(self) -> Choice:
        """Choose on the tasks that measured every network."""
        rows = np.arange(len(self.tasks.function))
        networks = self.learnt.networks
        for network in networks.values():
            rows = np.intersect1d(rows, network.rows)
        learnt = {name: network.measured_on(rows) for name, network in networks.items()}
        return choose(self.gaussians.held_out, learnt, rows, self.tasks)

    def refit(self, choice: Choice) -> list[tuple[float, AbstractModel]]:
        """Log-weights and models of the chosen law, fitted to all functions."""
        members = []
        with self.clock.part("refit"):
            for outer, name in zip(choice.law.log_weights, choice.law.names, strict=True):
                self.log(f"refit of {name} on all {self.count} functions")
                if name in self.learnt.networks:
                    members.append(
                        (float(outer), self.learnt.refit(name, self.gaussians, self.count))
                    )
                    continue
                for part in self.gaussians.laws[name].scale.components():
                    model = self.gaussians.model(name, part.factor, part.noise)
                    members.append((float(outer + part.log_weight), model))
        return members
