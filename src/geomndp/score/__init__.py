"""Scores: exact ones and learnt ones, all returning u = -E[xi | Y]."""

from geomndp._deprecated import deprecated_names
from geomndp.score.base import AbstractScore
from geomndp.score.exact import GaussianScore, MixtureScore
from geomndp.score.grid_gaussian import GridGaussianScore
from geomndp.score.heat_mixture import HeatMixtureScore
from geomndp.score.network import NetworkScore
from geomndp.score.parametrisations import (
    PARAMETRISATIONS,
    AbstractParametrisation,
    PreconditionK,
    PreconditionRoot,
    PredictData,
    PredictScore,
    Velocity,
)

__all__ = [
    "PARAMETRISATIONS",
    "AbstractParametrisation",
    "AbstractScore",
    "GaussianScore",
    "GridGaussianScore",
    "HeatMixtureScore",
    "MixtureScore",
    "NetworkScore",
    "PreconditionK",
    "PreconditionRoot",
    "PredictData",
    "PredictScore",
    "Velocity",
]
deprecated_names(__name__, {"Unconditioned": "PredictScore"})
