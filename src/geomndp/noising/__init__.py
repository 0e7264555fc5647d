"""How functions are turned into noise."""

from geomndp.noising.base import AbstractNoising, Perturbed, per_point
from geomndp.noising.brownian import Brownian
from geomndp.noising.ornstein_uhlenbeck import OrnsteinUhlenbeck
from geomndp.noising.schedule import (
    LINE_SCHEDULE,
    SPACE_SCHEDULE,
    AbstractSchedule,
    CosineSchedule,
    LinearSchedule,
)

__all__ = [
    "LINE_SCHEDULE",
    "SPACE_SCHEDULE",
    "AbstractNoising",
    "AbstractSchedule",
    "Brownian",
    "CosineSchedule",
    "LinearSchedule",
    "OrnsteinUhlenbeck",
    "Perturbed",
    "per_point",
]
