"""Learning a score: loss, steps, checkpoints, and the loop around them."""

from geomndp.train.checkpoint import CheckpointError, Checkpoints
from geomndp.train.fit import fit_score
from geomndp.train.lock import FolderInUse
from geomndp.train.log import History, Log
from geomndp.train.loop import TrainingDiverged, run
from geomndp.train.loss import DenoisingLoss, LossInfo
from geomndp.train.optimiser import adam
from geomndp.train.parallel import batch_mesh
from geomndp.train.step import StepInfo, Trainer, TrainState, advance, init
from geomndp.train.times import ContextTimes
from geomndp.train.weight import Likelihood

__all__ = [
    "CheckpointError",
    "Checkpoints",
    "ContextTimes",
    "DenoisingLoss",
    "FolderInUse",
    "History",
    "Likelihood",
    "Log",
    "LossInfo",
    "StepInfo",
    "TrainState",
    "Trainer",
    "TrainingDiverged",
    "adam",
    "advance",
    "batch_mesh",
    "fit_score",
    "init",
    "run",
]
