"""The simple candidates of a selection: fitted on every fold, measured, recalibrated, refitted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from geomndp.auto.clock import Left
from geomndp.auto.free_scales import free_scales
from geomndp.auto.gaussian_candidate import GaussianCandidate
from geomndp.auto.gaussian_candidates import (
    IDENTITY,
    Forms,
    GaussianData,
    all_forms,
)
from geomndp.auto.gaussian_measure import GaussianMeasure
from geomndp.auto.held_out import HeldOut
from geomndp.auto.network_timing import GaussianBase
from geomndp.auto.plan import TrainingPlan
from geomndp.auto.recalibration import (
    GAUSSIAN,
    NOISES,
    CalibratedLaw,
    RandomScale,
    calibrate,
)
from geomndp.auto.run_plan import RunPlan
from geomndp.auto.split import FEW_FUNCTIONS, ValidationSplit
from geomndp.auto.validation import ValidationTasks
from geomndp.baselines import Candidate
from geomndp.model import ProcessModel

OTHER_SPLITS = 0.6
"""Share of the time that is kept for the other splits of few functions, which have one form per
transform; those of more functions have what the first one leaves."""
NUM_FREE = 3
"""Best candidates whose scales and noise are weighed freely."""


class GaussianStage:
    """Simple candidates of a plan by name.

    Attributes:
        splits: The splits that there was time for.
        tasks: Their tasks.
        known: Every candidate with a random scale of known form.
        laws: The same; of the best ones with free weights where these are better.
    """

    def __init__(
        self,
        plan: TrainingPlan,
        splits: Sequence[ValidationSplit],
        tasks: ValidationTasks,
        seed: int = 0,
    ):
        """Remember what is to be fitted.

        Args:
            plan: A plan with functions.
            splits: The splits.
            tasks: Tasks of all splits.
            seed: Seed of the fit.
        """
        self.plan, self.splits, self.tasks, self.seed = plan, tuple(splits), tasks, seed
        self.data = GaussianData(plan, splits[0].train, seed)
        self._all: GaussianData | None = None
        self.folds: list[dict[str, GaussianCandidate]] = []
        self.known: dict[str, CalibratedLaw] = {}
        self.laws: dict[str, CalibratedLaw] = {}
        self._plain: dict[str, HeldOut] = {}
        self._laws: dict[str, GaussianMeasure] = {}
        self._refitted: dict[str, GaussianCandidate] = {}

    def run(self, run: RunPlan, left: Left) -> None:
        """Fit and measure all simple candidates.

        The forms of pooled processes are chosen on the first split, and kept on the others. Where
        time is short, fewer forms, transforms and splits are tried: one more split only where twice
        the time that the one before took is left, since it is measured, too.

        Args:
            run: Decisions of the run: which forms were tried, on how many splits.
            left: Tells the time that is left for the simple candidates.
        """
        first, begin = self.splits[0], left()
        if "forms" in run.decisions:
            fits = self.data.fit(first.train, first.held_out, _read(run.decisions["forms"]))
        else:
            forms = all_forms(tuple(self.data.units))
            few = len(first.train) + len(first.held_out) < FEW_FUNCTIONS
            kept = OTHER_SPLITS * begin if few else 0.0
            fits = self.data.fit(first.train, first.held_out, forms, lambda: left() - kept)
            run.decide("forms", lambda: _tried(forms, fits))
        self.folds = [fits]
        tried = _read(run.decisions["forms"])
        chosen = {name: (_form(fits, name),) for name in tried}
        seconds = (begin - left()) * len(chosen) / sum(map(len, tried.values()))
        for number, split in enumerate(self.splits[1:], 2):
            begin = left()
            if not run.decide(f"split {number}", lambda needed=2 * seconds: left() > needed):
                break
            self.folds.append(self.data.fit(split.train, split.held_out, chosen))
            seconds = begin - left()
        self._keep(len(self.folds))
        for name in fits:
            if all(name in fold for fold in self.folds):
                self._measure(name)
        ranked = sorted(self.laws, key=lambda name: -self.mean(self.laws[name].held_out))
        for name in ranked[:NUM_FREE]:
            self._free(name)

    def _keep(self, number: int) -> None:
        """Keep the first splits and their tasks."""
        self.splits = self.splits[:number]
        rows = np.concatenate([split.held_out for split in self.splits])
        self.tasks = self.tasks.take(np.flatnonzero(np.isin(self.tasks.function, rows)))

    def _measure(self, name: str) -> None:
        """Measure a candidate, and choose its random scale."""
        law = self._measured(name)
        self._plain[name], self._laws[name] = law.plain, law
        # That of a shrunk covariance was chosen on its own functions, in folds.
        shrunk = name.startswith("shrunk covariance")
        start = RandomScale(1.0, self.folds[0][name].fit.dof if shrunk else None)
        self.laws[name] = self.known[name] = calibrate(law, self.tasks, start)

    def _measured(self, name: str, noise: float = 0.0) -> GaussianMeasure:
        """A candidate on all tasks, each under the fit that did not see its function."""
        parts, order = [], []
        for fold, split in zip(self.folds, self.splits, strict=True):
            rows = np.flatnonzero(np.isin(self.tasks.function, split.held_out))
            if len(rows):
                parts.append(fold[name].measure(self.tasks.take(rows), noise))
                order.append(rows)
        return GaussianMeasure.joined(parts).take(np.argsort(np.concatenate(order)))

    def _free(self, name: str) -> None:
        """Weigh scales and noise of a candidate freely, where that is better."""
        laws = [self._laws[name]]
        if all(fold[name].noisy for fold in self.folds):
            laws += [self._measured(name, noise) for noise in NOISES[1:]]
        self.laws[name] = free_scales(laws, self.tasks, self.known[name])

    @property
    def held_out(self) -> dict[str, HeldOut]:
        """Log-densities of all tasks by name."""
        return {name: law.held_out for name, law in self.laws.items()}

    def mean(self, held: HeldOut) -> float:
        """Mean nats per target value over kinds and functions."""
        return float(self.tasks.by_function(held.per_value(self.tasks)).mean())

    @property
    def best(self) -> str:
        """Name of the best candidate."""
        return max(self.laws, key=lambda name: self.mean(self.laws[name].held_out))

    def base(self) -> GaussianBase:
        """The best candidate without a random scale, for a network to correct."""
        name = max(self._plain, key=lambda name: self.mean(self._plain[name]))
        fits = [fold[name] for fold in self.folds]
        return GaussianBase(
            name, tuple(fit.law() for fit in fits), fits[0].units, self._plain[name]
        )

    def refit(self, name: str) -> GaussianCandidate:
        """A candidate fitted to all functions, without its random scale."""
        if name not in self._refitted:
            self._all = self._all or GaussianData(self.plan, seed=self.seed)
            self._refitted[name] = self._all.refit(name, self.folds[0])
        return self._refitted[name]

    def model(
        self, name: str, factor: float = 1.0, noise: float = 0.0, report: str | None = None
    ) -> ProcessModel:
        """A candidate fitted to all functions, as a model that knows what it was fitted to.

        Args:
            name: Name of the candidate.
            factor: Factor of its covariances.
            noise: Further noise before that, in units of the variance of its own.
            report: How it was chosen, as text.

        Returns:
            The model; of tracks in the coordinates of local maps, without a record.
        """
        candidate = self.refit(name)
        own = self.plan.model.variables
        data = self._all if self.plan.maps is None else None
        support = None if data is None else data.support()
        return ProcessModel(candidate.law(factor, noise), candidate.units, own, support, report)

    def notes(self) -> dict[str, str]:
        """What each candidate is."""
        notes = {}
        for name, law in self.laws.items():
            scale = "" if law.scale == GAUSSIAN else f"; {law.scale}"
            notes[name] = f"{self.folds[0][name].fit.name}{scale}"
        return notes


def _form(fits: dict[str, GaussianCandidate], transform: str) -> Candidate:
    """The form that was chosen for a transform."""
    name = "GP" if transform == IDENTITY else f"GP, {transform}"
    return fits[name].fit.state[0]


def _tried(forms: Forms, fits: dict[str, GaussianCandidate]) -> dict[str, Any]:
    """Forms that time allowed, by transform."""
    tried = {}
    for name, candidates in forms.items():
        ending = "GP" if name == IDENTITY else f"GP, {name}"
        if ending in fits:
            names = {tried_name for tried_name, _ in fits[ending].fit.candidates}
            tried[name] = [list(form) for form in candidates if str(form) in names]
    return tried


def _read(decided: dict[str, Any]) -> Forms:
    return {name: tuple(Candidate(*form) for form in forms) for name, forms in decided.items()}
