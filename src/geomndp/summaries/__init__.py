"""Summaries of samples and metrics against the truth, each with its Monte Carlo error."""

from geomndp.summaries.describe import describe
from geomndp.summaries.metrics import (
    crps,
    energy_score,
    track_energy_score,
    track_mean_error,
    variogram_score,
)
from geomndp.summaries.moments import (
    Estimate,
    functional,
    mean,
    probability,
    quantiles,
    standard_deviation,
)
from geomndp.summaries.tracks import (
    Approach,
    closest_approach,
    distance_to,
    track_mean,
    track_spread,
)

__all__ = [
    "Approach",
    "Estimate",
    "closest_approach",
    "crps",
    "describe",
    "distance_to",
    "energy_score",
    "functional",
    "mean",
    "probability",
    "quantiles",
    "standard_deviation",
    "track_energy_score",
    "track_mean",
    "track_mean_error",
    "track_spread",
    "variogram_score",
]
