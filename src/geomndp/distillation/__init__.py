"""Students of trained models, whose flow maps take whole steps of the probability flow."""

from geomndp.distillation.comparison import CallsTable, compare_calls
from geomndp.distillation.distil import as_student, distil
from geomndp.distillation.energy_score import EnergyScoreLoss
from geomndp.distillation.lagrangian import LagrangianLoss
from geomndp.distillation.time_pairs import TimePairs

__all__ = [
    "CallsTable",
    "EnergyScoreLoss",
    "LagrangianLoss",
    "TimePairs",
    "as_student",
    "compare_calls",
    "distil",
]
