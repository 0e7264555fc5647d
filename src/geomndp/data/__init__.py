"""What models learn from: random functions, training streams, fixed test sets, units."""

from geomndp.data.normalise import Normaliser
from geomndp.data.stream import AbstractStream, Contexts, Resampled, Stream, mark
from geomndp.data.suites import NAMES, REGIONS, SUITES, Regression1D, regression1d
from geomndp.data.synthetic import AbstractProcess, Gaussian, Mixture, Sawtooth
from geomndp.data.tasks import tasks

__all__ = [
    "NAMES",
    "REGIONS",
    "SUITES",
    "AbstractProcess",
    "AbstractStream",
    "Contexts",
    "Gaussian",
    "Mixture",
    "Normaliser",
    "Regression1D",
    "Resampled",
    "Sawtooth",
    "Stream",
    "mark",
    "regression1d",
    "tasks",
]
