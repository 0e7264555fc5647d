"""A model in the hand: sample, condition, log-density, fit, save, load."""

from geomndp.likelihood import LogProb
from geomndp.model.compiled import log_prob
from geomndp.model.files import load, save
from geomndp.model.fit import fit
from geomndp.model.model import Model
from geomndp.model.posterior import Posterior
from geomndp.model.recipe import Recipe
from geomndp.model.record import with_support
from geomndp.model.registered import register
from geomndp.model.support import TrainingSupport

__all__ = [
    "LogProb",
    "Model",
    "Posterior",
    "Recipe",
    "TrainingSupport",
    "fit",
    "load",
    "log_prob",
    "register",
    "save",
    "with_support",
]
