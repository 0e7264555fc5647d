"""Pictures: the only users of matplotlib; every function returns axes and accepts them."""

from geomndp.plot.checks import calibration, coverage, training_curve
from geomndp.plot.field import arrow_scale, vector_field
from geomndp.plot.files import save_figure
from geomndp.plot.globe import field_map, globe
from geomndp.plot.line import functions_1d
from geomndp.plot.map import fan_map, land_map, track_map
from geomndp.plot.tasks import task_comparison

__all__ = [
    "arrow_scale",
    "calibration",
    "coverage",
    "fan_map",
    "field_map",
    "functions_1d",
    "globe",
    "land_map",
    "save_figure",
    "task_comparison",
    "track_map",
    "training_curve",
    "vector_field",
]
