"""Sensible parts for a user's own data set, and the fit of them."""

from geomndp.auto.build import build
from geomndp.auto.fit import fit
from geomndp.auto.plan import TrainingPlan
from geomndp.auto.simple_models import simple_models

__all__ = ["TrainingPlan", "build", "fit", "simple_models"]
