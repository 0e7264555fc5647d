"""Simple models of functions and simple forecasts of tracks, to stand beside any model."""

from geomndp._deprecated import deprecated_names
from geomndp.baselines.gaussian.climatology import fit_climatology
from geomndp.baselines.gaussian.helmholtz import fit_helmholtz_gp
from geomndp.baselines.gaussian.pooled import CANDIDATES, fit_gp, refit
from geomndp.baselines.gaussian.result import Candidate, GaussianFit
from geomndp.baselines.gaussian.scale_mixture import scale_mixture
from geomndp.baselines.gaussian.shrunk import fit_shrunk_gaussian
from geomndp.baselines.gaussian.sphere import fit_sphere_gp
from geomndp.baselines.tracks.azimuthal_gp import AzimuthalGP
from geomndp.baselines.tracks.base import AbstractBaseline, AbstractPointBaseline, TrackPredictive
from geomndp.baselines.tracks.chart_gp import ChartGP
from geomndp.baselines.tracks.genesis_density import GenesisDensity
from geomndp.baselines.tracks.great_circle import GreatCircle, Hermite, Persistence
from geomndp.baselines.tracks.linear import LinearGaussian
from geomndp.baselines.tracks.map_projections import AbstractChart, LatLon, Stereographic
from geomndp.baselines.tracks.residuals import ScaleMixture

__all__ = [
    "CANDIDATES",
    "AbstractBaseline",
    "AbstractChart",
    "AbstractPointBaseline",
    "AzimuthalGP",
    "Candidate",
    "ChartGP",
    "GaussianFit",
    "GenesisDensity",
    "GreatCircle",
    "Hermite",
    "LatLon",
    "LinearGaussian",
    "Persistence",
    "ScaleMixture",
    "Stereographic",
    "TrackPredictive",
    "fit_climatology",
    "fit_gp",
    "fit_helmholtz_gp",
    "fit_shrunk_gaussian",
    "fit_sphere_gp",
    "refit",
    "scale_mixture",
]

deprecated_names(
    __name__,
    {
        "Beginnings": "GenesisDensity",
        "base": "geomndp.baselines.tracks.base",
        "chart_gp": "geomndp.baselines.tracks.chart_gp",
        "charts": "geomndp.baselines.tracks.map_projections",
        "curves": "geomndp.baselines.tracks.great_circle",
        "linear": "geomndp.baselines.tracks.linear",
        "residuals": "geomndp.baselines.tracks.residuals",
        "start": "geomndp.baselines.tracks.genesis_density",
    },
)
