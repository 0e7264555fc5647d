"""Fit the candidates within a budget of time, choose by held-out likelihood, refit, report."""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax.random as jr
import numpy as np

from geomndp.auto.budget import RunPlan
from geomndp.auto.choice import Choice, choose
from geomndp.auto.gaussian_stage import GaussianStage
from geomndp.auto.network_stage import TrainedNetwork, refit_network, train_network
from geomndp.auto.network_timing import NetworkFamily, network_budgets, network_families
from geomndp.auto.outcome import assemble, describe, transforms
from geomndp.auto.plan import TrainingPlan
from geomndp.auto.report import SelectionReport
from geomndp.auto.split import ValidationSplit, split_functions
from geomndp.auto.validation import validation_tasks
from geomndp.model import ProcessModel
from geomndp.model._jit import use_compilation_cache
from geomndp.model.base import AbstractModel

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
    """
    folder = None if directory is None else Path(directory)
    selection = Selection(plan, minutes, seed, folder, _silent if quiet else _print)
    selection.fit_simple()
    selection.fit_networks()
    choice = selection.choose()
    pit, kinds = transforms(selection, choice)
    members = selection.refit(choice)
    report = describe(selection, choice, pit, kinds)
    law = assemble(members, report)
    if folder is not None:
        law.save(folder / "model", {**(notes or {}), "selection": report.as_json()})
    selection.log(report.sentence())
    return law, report


def _print(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _silent(line: str) -> None:
    """Say nothing."""


def _digest(plan: TrainingPlan) -> str:
    """Hash of the functions of a plan and of what was chosen for them."""
    digest = hashlib.sha256(f"{plan.description} {plan.groups} {plan.ordered}".encode())
    for values in (plan.functions or ())[:3]:
        digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()[:16]


class Selection:
    """One fit by selection: its data, its clock and what was found so far.

    Attributes:
        splits: Which functions are fitted and held out, fold by fold.
        tasks: Validation tasks of all folds.
        gaussians: The simple candidates.
        networks: Trained networks by name.
        seconds: Seconds by part of the fit.
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
        self.start, self.total = time.monotonic(), 60 * minutes
        self.plan, self.seed, self.folder, self.log = plan, seed, folder, log
        self.key = jr.key(seed)
        x, y, mask = plan.functions[:3]
        # Validation by points whose outputs are all known.
        mask = np.asarray(mask.all(axis=2)) if mask.ndim == 3 else mask
        self.count = len(x)
        settings = {"minutes": minutes, "seed": seed, "functions": self.count}
        self.run = RunPlan(folder, {**settings, "data": _digest(plan)})
        self.splits = self._split()
        rows = np.concatenate([split.held_out for split in self.splits])
        self.tasks = validation_tasks(x, y, mask, rows, seed=seed)
        self.gaussians = GaussianStage(plan, self.splits, self.tasks)
        self.networks: dict[str, TrainedNetwork] = {}
        self.seconds: dict[str, float] = {}
        self._families: dict[str, NetworkFamily] = {}

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

    def _timed(self, part: str, begin: float) -> None:
        self.seconds[part] = time.monotonic() - begin

    @property
    def best_simple(self) -> str:
        """Name of the best simple candidate."""
        held = self.gaussians.held_out
        return max(held, key=lambda name: self.gaussians.mean(held[name]))

    def fit_simple(self) -> None:
        """Fit and measure the simple candidates."""
        begin = time.monotonic()
        self.gaussians.run(self.run, self.total)
        self._timed("simple models", begin)
        nats = self.gaussians.mean(self.gaussians.held_out[self.best_simple])
        self.log(f"{self.best_simple}: held-out {nats:.3f} nats per target value")

    def fit_networks(self) -> None:
        """Time, train and measure the networks for which there is time."""
        begin, best = time.monotonic(), self.gaussians.best_base
        reserve = 0.4 * self.seconds["simple models"] + RESERVED_SHARE * self.total

        def left() -> float:
            return self.total - reserve - (time.monotonic() - self.start)

        keys = {name: jr.fold_in(self.key, i) for i, name in enumerate(("net", "time", "train"))}
        seconds = self.run.decide("network_seconds", left)  # sizes follow from it
        families = network_families(self.plan, self.gaussians.base(best), seconds, key=keys["net"])
        budgets = network_budgets(
            families, self.splits, self.tasks, self.run, seconds=left, key=keys["time"]
        )
        self._timed("timing", begin)
        begin, line = time.monotonic(), self.gaussians.mean(self.gaussians.held_out[best])
        for number, (family, schedule) in enumerate(budgets):
            network = train_network(
                family.on_fold,
                self.splits,
                self.tasks,
                schedule,
                key=jr.fold_in(keys["train"], number),
                folder=self.folder,
                log=lambda text: self.log(f"{text} ({best} {line:.3f})"),
            )
            if network is not None:
                self.networks[family.name], self._families[family.name] = network, family
        self._timed("networks", begin)

    def choose(self) -> Choice:
        """Choose on the tasks that measured every network."""
        rows = np.arange(len(self.tasks.function))
        for network in self.networks.values():
            rows = np.intersect1d(rows, network.rows)
        learnt = {name: network.measured_on(rows) for name, network in self.networks.items()}
        return choose(self.gaussians.held_out, learnt, rows, self.tasks)

    def refit(self, choice: Choice) -> list[tuple[float, AbstractModel]]:
        """Log-weights and models of the chosen law, fitted to all functions."""
        begin, members = time.monotonic(), []
        for outer, name in zip(choice.law.log_weights, choice.law.names, strict=True):
            self.log(f"refit of {name} on all {self.count} functions")
            if name in self.networks:
                members.append((float(outer), self._refit_network(name)))
                continue
            candidate, variables = self.gaussians.refit(name), self.plan.model.variables
            for inner, factor, _ in self.gaussians.components(name, choice.rows):
                model = ProcessModel(candidate.law(factor), candidate.units, variables)
                members.append((float(outer + inner), model))
        self._timed("refit", begin)
        return members

    def _refit_network(self, name: str) -> AbstractModel:
        family, base = self._families[name], None
        if family.bases is not None:
            base = self.gaussians.refit(self.gaussians.best_base).law()
        return refit_network(
            self.networks[name],
            family.with_base(base),
            len(self.splits[0].train),
            self.count,
            key=jr.fold_in(self.key, 4),
        )
