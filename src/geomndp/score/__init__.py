"""Scores: exact and learnt ones, all returning u = -E[xi | Y]."""

from geomndp._deprecated import deprecated_names
from geomndp.score.base import AbstractScore
from geomndp.score.exact import GaussianScore, MixtureScore
from geomndp.score.flow_map import (
    flow_angle,
    flow_map_grid,
    flow_velocity,
    follow_flow,
    time_of_angle,
    time_per_angle,
)
from geomndp.score.grid_gaussian import GridGaussianScore
from geomndp.score.heat_mixture import HeatMixtureScore
from geomndp.score.network import NetworkScore
from geomndp.score.parametrisations import (
    PARAMETRISATIONS,
    AbstractParametrisation,
    NoiseCoefficients,
    PreconditionK,
    PreconditionRoot,
    PredictData,
    PredictScore,
    Velocity,
    noise_coefficients,
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
    "NoiseCoefficients",
    "PreconditionK",
    "PreconditionRoot",
    "PredictData",
    "PredictScore",
    "Velocity",
    "flow_angle",
    "flow_map_grid",
    "flow_velocity",
    "follow_flow",
    "noise_coefficients",
    "time_of_angle",
    "time_per_angle",
]
deprecated_names(__name__, {"Unconditioned": "PredictScore"})
