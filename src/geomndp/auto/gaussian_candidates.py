"""Simple Gaussian candidates: climatology, pooled and invariant processes, shrunk covariances."""

from __future__ import annotations

import numpy as np

from geomndp._types import Batch
from geomndp.auto.clock import Left
from geomndp.auto.gaussian_candidate import GaussianCandidate
from geomndp.auto.plan import TrainingPlan
from geomndp.auto.units import functions_in_units, with_transform
from geomndp.baselines import (
    CANDIDATES,
    Candidate,
    GaussianFit,
    fit_climatology,
    fit_gp,
    fit_helmholtz_gp,
    fit_shrunk_gaussian,
    fit_sphere_gp,
    refit,
)
from geomndp.data import Normaliser, fit_transforms
from geomndp.kernels.vector import POTENTIALS
from geomndp.model import TrainingSupport
from geomndp.model.training_record import functions_support

IDENTITY, ON_SPHERE, HELMHOLTZ = "identity", "GP on the sphere", "Helmholtz GP"
Forms = dict[str, tuple[Candidate, ...]]
"""Forms of pooled processes to try, by the name of the outputs' transform."""


class GaussianData:
    """Functions of a plan in the units of every transform that they allow."""

    def __init__(self, plan: TrainingPlan, rows: np.ndarray | None = None, seed: int = 0):
        """Read the plan.

        Args:
            plan: A plan with functions and units.
            rows: Functions to which transforms and their units are fitted; by default all. One
                that some other value does not allow is left out, as are all in the maps of tracks.
            seed: Seed of the folds that choose the shrinkage of covariances.
        """
        assert plan.functions is not None
        units = plan.model.normaliser or Normaliser()
        fitted = plan.functions if rows is None else plan.functions.take(rows)
        self.ordered, self.labels, self.seed = plan.ordered, plan.groups, seed
        self.units: dict[str, Normaliser] = {}
        self.functions: dict[str, Batch] = {}
        allowed = fit_transforms(functions_in_units(plan.functions, Normaliser()))
        own = fit_transforms(functions_in_units(fitted, Normaliser()))
        for name in allowed if plan.maps is None else (IDENTITY,):
            if name in own:
                changed = with_transform(units, fitted, own[name])
                functions = functions_in_units(plan.functions, changed)
                if np.isfinite(functions.y).all():
                    self.units[name], self.functions[name] = changed, functions
        d = plan.functions.x.shape[2]
        # Unit vectors alone, and scalars or (east, north) components.
        self.on_sphere = plan.functions.variables.domain == "sphere" and d == 3
        self.on_sphere &= plan.functions.y.shape[2] <= 2
        self.vectors = plan.vectors and not self.on_sphere and d == plan.functions.y.shape[2]
        self._potentials: tuple[str, ...] = tuple(POTENTIALS)
        periods = units.model_periods
        self.period = tuple(length or None for length in periods) if any(periods) else None
        self.groups = tuple((i,) for i in range(d)) if len(units.x_scale) > 1 else None

    def fit(
        self, rows: np.ndarray, validation: np.ndarray, forms: Forms, left: Left | None = None
    ) -> dict[str, GaussianCandidate]:
        """Fit all simple models to some functions.

        Args:
            rows: Functions to fit.
            validation: Held-out functions, by which the form of a pooled process is chosen.
            forms: Forms to try.
            left: Tells the time that is left: where there is none, no further form and no further
                transform is tried.

        Returns:
            Candidates by name; those of the first transform at least.
        """
        found: dict[str, GaussianCandidate] = {}
        for number, (name, candidates) in enumerate(forms.items()):
            if found and left is not None and left() <= 0:
                break
            seconds = None if left is None else max(0.0, left()) / (len(forms) - number)
            functions, units = self.functions[name], self.units[name]
            pooled = fit_gp(
                functions,
                train=rows,
                validation=validation,
                period=self.period,
                groups=self.groups,
                candidates=candidates,
                seconds=seconds,
            )
            shrunk = self.shrunk(functions, pooled, rows)
            ending = "" if name == IDENTITY else f", {name}"
            found[f"GP{ending}"] = GaussianCandidate(pooled, units)
            if shrunk.process is not None:
                found[f"shrunk covariance{ending}"] = GaussianCandidate(shrunk, units)
        climatology = fit_climatology(self.functions[IDENTITY], train=rows, period=self.period)
        if climatology.process is not None:
            found["climatology"] = GaussianCandidate(climatology, self.units[IDENTITY])
        if self.on_sphere:
            fit = fit_sphere_gp(self.functions[IDENTITY], train=rows, validation=validation)
            found[ON_SPHERE] = GaussianCandidate(fit, self.units[IDENTITY])
        if self.vectors:
            fit = fit_helmholtz_gp(
                self.functions[IDENTITY],
                train=rows,
                validation=validation,
                potentials=self._potentials,
            )
            self._potentials = (fit.state,)  # that of the first split
            found[HELMHOLTZ] = GaussianCandidate(fit, self.units[IDENTITY])
        return found

    def shrunk(
        self, functions: Batch, pooled: GaussianFit, rows: np.ndarray | None = None
    ) -> GaussianFit:
        """Shrink the covariance of some functions, by default of all, towards a pooled process."""
        return fit_shrunk_gaussian(
            functions,
            pooled,
            train=rows,
            groups=self.labels,
            ordered=self.ordered,
            seed=self.seed,
        )

    def support(self) -> TrainingSupport:
        """What the functions are, for the record of a law that is fitted to them."""
        return functions_support(self.functions[IDENTITY], self.units[IDENTITY])

    def refit(self, name: str, fits: dict[str, GaussianCandidate]) -> GaussianCandidate:
        """Fit a chosen candidate to all functions.

        Args:
            name: Name of the candidate.
            fits: The candidates of a split.

        Returns:
            The candidate, of the same form.
        """
        kind, _, transform = name.partition(", ")
        functions = self.functions[transform or IDENTITY]
        units = self.units[transform or IDENTITY]
        if kind == "climatology":
            return GaussianCandidate(fit_climatology(functions, period=self.period), units)
        if kind == ON_SPHERE:
            return GaussianCandidate(fit_sphere_gp(functions), units)
        if kind == HELMHOLTZ:
            potential = fits[name].fit.state
            return GaussianCandidate(fit_helmholtz_gp(functions, potentials=(potential,)), units)
        pooled = refit(fits[name.replace(kind, "GP", 1)].fit, functions)
        if kind != "GP":
            shrunk = self.shrunk(functions, pooled)
            pooled = shrunk if shrunk.process is not None else pooled
        return GaussianCandidate(pooled, units)


def all_forms(transforms: tuple[str, ...]) -> Forms:
    """Six forms of pooled processes for values as they are, two for every transform.

    Args:
        transforms: Names of the transforms.

    Returns:
        Forms by transform.
    """
    return {name: CANDIDATES[:6] if name == IDENTITY else CANDIDATES[:2] for name in transforms}
