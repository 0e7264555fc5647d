"""Students of trained models, whose flow maps take whole steps of the probability flow."""

from geomndp.distillation.call_pairs import CallPairs
from geomndp.distillation.comparison import CallsTable, compare_calls, compare_calls_on
from geomndp.distillation.distil import as_student, distil
from geomndp.distillation.energy_score import EnergyScoreLoss
from geomndp.distillation.lagrangian import LagrangianLoss
from geomndp.distillation.time_pairs import TimePairs
from geomndp.distillation.trajectory_loss import TrajectoryLoss
from geomndp.distillation.trajectory_pool import TrajectoryPool, trajectory_pool

__all__ = [
    "CallPairs",
    "CallsTable",
    "EnergyScoreLoss",
    "LagrangianLoss",
    "TimePairs",
    "TrajectoryLoss",
    "TrajectoryPool",
    "as_student",
    "compare_calls",
    "compare_calls_on",
    "distil",
    "trajectory_pool",
]
