"""Sensible parts for a user's own data set, and the fit of them."""

from geomndp.auto.build import build
from geomndp.auto.fit import fit
from geomndp.auto.plan import TrainingPlan

__all__ = ["TrainingPlan", "build", "fit"]
