"""High-level model API: sample, condition, log-density, save, load."""

from geomndp._deprecated import deprecated_names
from geomndp._training_log import TrainingSupport
from geomndp.likelihood import LogProb
from geomndp.model.chart_model import ChartModel
from geomndp.model.likelihood_routes import log_prob
from geomndp.model.mixture import MixtureProcess
from geomndp.model.model import Model
from geomndp.model.posterior import Posterior
from geomndp.model.process_model import ProcessModel
from geomndp.model.registered import register
from geomndp.model.serialization import load, save
from geomndp.model.training_record import with_support

__all__ = [
    "ChartModel",
    "LogProb",
    "MixtureProcess",
    "Model",
    "Posterior",
    "ProcessModel",
    "TrainingSupport",
    "load",
    "log_prob",
    "register",
    "save",
    "with_support",
]

moved = "geomndp.auto:TrainingPlan"
deprecated_names(
    __name__,
    {
        "Recipe": moved,
        "TrainingPlan": moved,
        "document": "documents",
        "fit": "geomndp.auto.fit:fit",
        "record": "training_record",
        "support": "training_record",
    },
)
