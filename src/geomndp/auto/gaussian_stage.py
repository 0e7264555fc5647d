"""The simple candidates of a selection: fitted on every fold, measured, recalibrated, refitted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from geomndp.auto.budget import GAUSSIAN_SHARE, RunPlan
from geomndp.auto.gaussian_candidates import (
    IDENTITY,
    Forms,
    GaussianCandidate,
    GaussianData,
    all_forms,
)
from geomndp.auto.held_out import HeldOut
from geomndp.auto.network_timing import GaussianBase
from geomndp.auto.plan import TrainingPlan
from geomndp.auto.recalibration import PROBE, RandomScale, ScaledLaw, best_scale
from geomndp.auto.split import ValidationSplit
from geomndp.auto.validation import ValidationTasks
from geomndp.baselines import Candidate

NUM_RECALIBRATED = 2
"""Best candidates that are recalibrated."""


class GaussianStage:
    """Simple candidates of a plan by name, recalibrated ones among them."""

    def __init__(
        self, plan: TrainingPlan, splits: Sequence[ValidationSplit], tasks: ValidationTasks
    ):
        """Remember what is to be fitted.

        Args:
            plan: A plan with functions.
            splits: The splits.
            tasks: Tasks of all splits.
        """
        self.plan, self.splits, self.tasks = plan, splits, tasks
        self.data = GaussianData(plan)
        self.folds: list[dict[str, GaussianCandidate]] = []
        self.held_out: dict[str, HeldOut] = {}
        self._scaled: dict[str, tuple[str, RandomScale]] = {}
        self._laws: dict[str, ScaledLaw] = {}
        self._refitted: dict[str, GaussianCandidate] = {}

    def run(self, run: RunPlan, seconds: float) -> dict[str, HeldOut]:
        """Fit and measure all simple candidates.

        The forms of pooled processes are chosen on the first split, and kept on the others.

        Args:
            run: Decisions of the run: which forms were tried.
            seconds: Time of the whole run.

        Returns:
            Log-densities of all tasks by name.
        """
        budget = GAUSSIAN_SHARE * seconds / (1 + len(self.data.units)) / len(self.splits)
        first = self.splits[0]
        if "forms" in run.decisions:
            fits = self.data.fit(first.train, first.held_out, _read(run.decisions["forms"]))
        else:
            forms = all_forms(tuple(self.data.units))
            fits = self.data.fit(first.train, first.held_out, forms, budget)
            run.decide("forms", lambda: _tried(forms, fits))
        self.folds = [fits]
        chosen = {name: (_form(fits, name),) for name in self.data.units}
        for split in self.splits[1:]:
            self.folds.append(self.data.fit(split.train, split.held_out, chosen))
        names = [name for name in fits if all(name in fold for fold in self.folds)]
        self.held_out = {name: self._measure(name) for name in names}
        ranked = sorted(names, key=lambda name: -self.mean(self.held_out[name]))
        self._recalibrate(ranked[:NUM_RECALIBRATED])
        return self.held_out

    def _measure(self, name: str, factor: float = 1.0) -> HeldOut:
        """Log-densities of all tasks, each under the fit that did not see its function."""
        targets, context = (np.full(len(self.tasks.function), -np.inf) for _ in range(2))
        for fold, split in enumerate(self.splits):
            rows = np.flatnonzero(np.isin(self.tasks.function, split.held_out))
            if len(rows):
                held = self.folds[fold][name].measure(self.tasks.take(rows), factor)
                targets[rows], context[rows] = held
        return HeldOut(targets, context)

    def _recalibrate(self, names: Sequence[str]) -> None:
        """Add candidates with a random scale where it brings something."""
        for name in names:
            probe = self._measure(name, PROBE)
            law = ScaledLaw.of(self.held_out[name], probe, self.tasks)
            scale = best_scale(law, self.tasks)
            if scale != RandomScale():
                self._scaled[f"recalibrated {name}"] = (name, scale)
                self._laws[name] = law
                self.held_out[f"recalibrated {name}"] = law.mixed(scale)

    def components(self, name: str, rows: np.ndarray) -> list[tuple[float, float, HeldOut]]:
        """Log-weight, factor and log-densities of some tasks for every component of a law.

        Args:
            name: Name of a candidate.
            rows: Indices of the tasks.

        Returns:
            One component, or those of a random scale.
        """
        if name not in self._scaled:
            return [(0.0, 1.0, self.held_out[name].take(rows))]
        base, scale = self._scaled[name]
        law = self._laws[base]
        return [(w, factor, law.at(factor).take(rows)) for w, factor in scale.components()]

    def candidate(self, name: str, fold: int) -> GaussianCandidate:
        """A candidate as fitted on a fold, without its random scale."""
        return self.folds[fold][self._scaled[name][0] if name in self._scaled else name]

    def mean(self, held: HeldOut) -> float:
        """Mean nats per target value over kinds and functions."""
        return float(self.tasks.by_function(held.per_value(self.tasks)).mean())

    @property
    def best_base(self) -> str:
        """Name of the best candidate as it was fitted, without recalibration."""
        names = [name for name in self.held_out if not self.is_recalibrated(name)]
        return max(names, key=lambda name: self.mean(self.held_out[name]))

    def is_recalibrated(self, name: str) -> bool:
        """Whether this is another candidate with a random scale."""
        return name in self._scaled

    def base(self, name: str) -> GaussianBase:
        """The Gaussian process of a candidate, for a network to correct."""
        fits = [self.candidate(name, fold) for fold in range(len(self.folds))]
        return GaussianBase(tuple(fit.law() for fit in fits), fits[0].units)

    def refit(self, name: str) -> GaussianCandidate:
        """A candidate fitted to all functions, without its random scale."""
        base = self._scaled[name][0] if name in self._scaled else name
        if base not in self._refitted:
            self._refitted[base] = self.data.refit(base, self.folds[0])
        return self._refitted[base]

    def notes(self) -> dict[str, str]:
        """What each candidate is."""
        notes = {name: self.candidate(name, 0).fit.name for name in self.held_out}
        return notes | {name: str(scale) for name, (_, scale) in self._scaled.items()}


def _form(fits: dict[str, GaussianCandidate], transform: str) -> Candidate:
    """The form that was chosen for a transform."""
    name = "GP" if transform == IDENTITY else f"GP, {transform}"
    return fits[name].fit.state[0]


def _tried(forms: Forms, fits: dict[str, GaussianCandidate]) -> dict[str, Any]:
    """Forms that time allowed, by transform."""
    tried = {}
    for name, candidates in forms.items():
        ending = "GP" if name == IDENTITY else f"GP, {name}"
        names = {tried_name for tried_name, _ in fits[ending].fit.candidates}
        tried[name] = [list(form) for form in candidates if str(form) in names]
    return tried


def _read(decided: dict[str, Any]) -> Forms:
    return {name: tuple(Candidate(*form) for form in forms) for name, forms in decided.items()}
