"""Forward (noising) processes."""

from geomndp._deprecated import deprecated_names
from geomndp.linalg import per_point
from geomndp.noising.base import AbstractNoising, Perturbed
from geomndp.noising.brownian import Brownian
from geomndp.noising.ornstein_uhlenbeck import OrnsteinUhlenbeck
from geomndp.noising.schedule import (
    DEFAULT_SCHEDULE,
    DEFAULT_SCHEDULE_1D,
    AbstractSchedule,
    CosineSchedule,
    LinearSchedule,
)

__all__ = [
    "DEFAULT_SCHEDULE",
    "DEFAULT_SCHEDULE_1D",
    "AbstractNoising",
    "AbstractSchedule",
    "Brownian",
    "CosineSchedule",
    "LinearSchedule",
    "OrnsteinUhlenbeck",
    "Perturbed",
    "per_point",
]
deprecated_names(
    __name__,
    {"LINE_SCHEDULE": "DEFAULT_SCHEDULE_1D", "SPACE_SCHEDULE": "DEFAULT_SCHEDULE"},
)
