"""Training data: random functions, generators of batches, fixed test functions, units."""

from geomndp._deprecated import deprecated_names
from geomndp._types import Batch
from geomndp.data.context_sampling import ContextSampler, context_mask
from geomndp.data.fields import FIELDS, FieldProblem, field_problem
from geomndp.data.fit_transforms import fit_transforms
from geomndp.data.fixed_inputs import FixedInputsGenerator
from geomndp.data.frames import AbstractFrame, FixedFrame, LocalFrame
from geomndp.data.generators import (
    SEPARATE,
    AbstractGenerator,
    Batching,
    ProcessGenerator,
)
from geomndp.data.globe_generator import GlobeGenerator
from geomndp.data.grids import CholeskyGenerator, GridGenerator, covariance, disc, grid_tasks
from geomndp.data.multi_design import MultiDesignGenerator, stacked_generators
from geomndp.data.normalise import Normaliser
from geomndp.data.point_designs import designs
from geomndp.data.resampled import ResampledGenerator
from geomndp.data.sequences import SequenceGenerator
from geomndp.data.sharp_sawtooth import SharpSawtooth
from geomndp.data.sphere_designs import SPHERE_PATTERNS, sphere_designs
from geomndp.data.sphere_fields import SPHERE_FIELDS, fibonacci, sphere_problem
from geomndp.data.start_density import StartDensity
from geomndp.data.suites import (
    EXTRAPOLATION,
    NAMES,
    REGIONS,
    SUITES,
    Regression1D,
    regression1d,
)
from geomndp.data.synthetic import Gaussian, Mixture, Sawtooth, SyntheticProcess
from geomndp.data.tasks import tasks
from geomndp.data.track_maps import TrackMaps
from geomndp.data.transforms import AbstractTransform, BoxCox, Identity, Logit, LogTransform
from geomndp.data.winds import WindFields, read_winds

__all__ = [
    "EXTRAPOLATION",
    "FIELDS",
    "NAMES",
    "REGIONS",
    "SEPARATE",
    "SPHERE_FIELDS",
    "SPHERE_PATTERNS",
    "SUITES",
    "AbstractFrame",
    "AbstractGenerator",
    "AbstractTransform",
    "Batch",
    "Batching",
    "BoxCox",
    "CholeskyGenerator",
    "ContextSampler",
    "FieldProblem",
    "FixedFrame",
    "FixedInputsGenerator",
    "Gaussian",
    "GlobeGenerator",
    "GridGenerator",
    "Identity",
    "LocalFrame",
    "LogTransform",
    "Logit",
    "Mixture",
    "MultiDesignGenerator",
    "Normaliser",
    "ProcessGenerator",
    "Regression1D",
    "ResampledGenerator",
    "Sawtooth",
    "SequenceGenerator",
    "SharpSawtooth",
    "StartDensity",
    "SyntheticProcess",
    "TrackMaps",
    "WindFields",
    "context_mask",
    "covariance",
    "designs",
    "disc",
    "fibonacci",
    "field_problem",
    "fit_transforms",
    "grid_tasks",
    "read_winds",
    "regression1d",
    "sphere_designs",
    "sphere_problem",
    "stacked_generators",
    "tasks",
]

deprecated_names(
    __name__,
    {
        "AbstractProcess": "SyntheticProcess",
        "AbstractStream": "AbstractGenerator",
        "Contexts": "ContextSampler",
        "GridSampler": "CholeskyGenerator",
        "GridStream": "GridGenerator",
        "PlacesStream": "MultiDesignGenerator",
        "Resampled": "ResampledGenerator",
        "SharedPlaces": "FixedInputsGenerator",
        "Stream": "ProcessGenerator",
        "globe": "geomndp.geometry.geodesy",
        "mark": "context_mask",
        "stacked_samplers": "stacked_generators",
    },
)
