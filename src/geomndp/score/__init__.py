"""Scores: exact ones and learnt ones, all returning u = -E[xi | Y]."""

from geomndp.score.base import AbstractScore
from geomndp.score.exact import GaussianScore, MixtureScore
from geomndp.score.heat import HeatMixtureScore
from geomndp.score.network import NetworkScore
from geomndp.score.on_grid import GridGaussianScore
from geomndp.score.parametrise import (
    PARAMETRISATIONS,
    AbstractParametrisation,
    PreconditionK,
    PreconditionRoot,
    PredictData,
    Unconditioned,
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
    "Unconditioned",
    "Velocity",
]
