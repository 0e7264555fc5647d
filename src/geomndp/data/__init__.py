"""What models learn from: random functions, training streams, fixed test sets, units."""

from geomndp._types import Batch
from geomndp.data.fields import FIELDS, FieldProblem, field_problem
from geomndp.data.grids import GridSampler, GridStream, covariance, disc, grid_tasks
from geomndp.data.normalise import Normaliser
from geomndp.data.places import PlacesStream, designs, stacked_samplers
from geomndp.data.shared import SharedPlaces
from geomndp.data.stream import AbstractStream, Contexts, Resampled, Stream, mark
from geomndp.data.suites import NAMES, REGIONS, SUITES, Regression1D, regression1d
from geomndp.data.synthetic import Gaussian, Mixture, Sawtooth, SyntheticProcess
from geomndp.data.tasks import tasks

__all__ = [
    "FIELDS",
    "NAMES",
    "REGIONS",
    "SUITES",
    "AbstractStream",
    "Batch",
    "Contexts",
    "FieldProblem",
    "Gaussian",
    "GridSampler",
    "GridStream",
    "Mixture",
    "Normaliser",
    "PlacesStream",
    "Regression1D",
    "Resampled",
    "Sawtooth",
    "SharedPlaces",
    "Stream",
    "SyntheticProcess",
    "covariance",
    "designs",
    "disc",
    "field_problem",
    "grid_tasks",
    "mark",
    "regression1d",
    "stacked_samplers",
    "tasks",
]
