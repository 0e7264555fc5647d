"""Simple forecasts of tracks, to stand beside any model."""

from geomndp.baselines.base import AbstractBaseline, AbstractForecast, AbstractPointForecast
from geomndp.baselines.chart_gp import ChartForecast, ChartGP
from geomndp.baselines.charts import AbstractChart, LatLon, Stereographic
from geomndp.baselines.curves import GreatCircle, Hermite, Persistence
from geomndp.baselines.linear import LinearForecast, LinearGaussian
from geomndp.baselines.residuals import ScaleMixture
from geomndp.baselines.start import Beginnings

__all__ = [
    "AbstractBaseline",
    "AbstractChart",
    "AbstractForecast",
    "AbstractPointForecast",
    "Beginnings",
    "ChartForecast",
    "ChartGP",
    "GreatCircle",
    "Hermite",
    "LatLon",
    "LinearForecast",
    "LinearGaussian",
    "Persistence",
    "ScaleMixture",
    "Stereographic",
]
