"""How functions are turned into noise."""

from geomndp.noising.ornstein_uhlenbeck import OrnsteinUhlenbeck, Perturbed, per_point
from geomndp.noising.schedule import AbstractSchedule, CosineSchedule, LinearSchedule

__all__ = [
    "AbstractSchedule",
    "CosineSchedule",
    "LinearSchedule",
    "OrnsteinUhlenbeck",
    "Perturbed",
    "per_point",
]
