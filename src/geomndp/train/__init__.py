"""Training of a score: loss, steps, checkpoints, and the loop around them."""

from geomndp._deprecated import deprecated_names
from geomndp._training_log import History, Log
from geomndp.data.context_sampling import ContextNoiseLevels
from geomndp.data.generators import batch_mesh
from geomndp.train.checkpoint import CheckpointError, Checkpoints
from geomndp.train.default_loss import default_loss
from geomndp.train.fit import adam, fit_score
from geomndp.train.known_noise import KnownNoise
from geomndp.train.lock import FolderInUse
from geomndp.train.loop import TrainingDiverged, init, run
from geomndp.train.loss import DenoisingLoss, LikelihoodWeighting, LossInfo
from geomndp.train.step import StepInfo, Trainer, TrainState, train_steps

__all__ = [
    "CheckpointError",
    "Checkpoints",
    "ContextNoiseLevels",
    "DenoisingLoss",
    "FolderInUse",
    "History",
    "KnownNoise",
    "LikelihoodWeighting",
    "Log",
    "LossInfo",
    "StepInfo",
    "TrainState",
    "Trainer",
    "TrainingDiverged",
    "adam",
    "batch_mesh",
    "default_loss",
    "fit_score",
    "init",
    "run",
    "train_steps",
]

deprecated_names(
    __name__,
    {
        "ContextTimes": "ContextNoiseLevels",
        "Likelihood": "LikelihoodWeighting",
        "advance": "train_steps",
        "context_noise": "geomndp.data.context_sampling",
    },
)
