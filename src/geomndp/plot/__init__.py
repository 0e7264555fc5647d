"""Pictures: the only users of matplotlib; every function returns axes and accepts them."""

from geomndp.plot.files import save_figure
from geomndp.plot.line import calibration, functions_1d, training_curve

__all__ = ["calibration", "functions_1d", "save_figure", "training_curve"]
