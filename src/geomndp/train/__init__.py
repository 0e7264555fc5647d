"""Learning a score: loss, steps, checkpoints, and the loop around them."""

from geomndp._deprecated import deprecated_names
from geomndp.train.checkpoint import CheckpointError, Checkpoints
from geomndp.train.fit import fit_score
from geomndp.train.lock import FolderInUse
from geomndp.train.log import History, Log
from geomndp.train.loop import TrainingDiverged, run
from geomndp.train.loss import DenoisingLoss, LossInfo
from geomndp.train.optimiser import adam
from geomndp.train.parallel import batch_mesh
from geomndp.train.step import StepInfo, Trainer, TrainState, init, train_steps
from geomndp.train.times import ContextNoiseLevels
from geomndp.train.weight import LikelihoodWeighting

__all__ = [
    "CheckpointError",
    "Checkpoints",
    "ContextNoiseLevels",
    "DenoisingLoss",
    "FolderInUse",
    "History",
    "LikelihoodWeighting",
    "Log",
    "LossInfo",
    "StepInfo",
    "TrainState",
    "Trainer",
    "TrainingDiverged",
    "adam",
    "batch_mesh",
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
    },
)
