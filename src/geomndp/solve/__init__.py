"""Time grids, integrators, reverse steps, and the dynamics that they follow."""

from geomndp._deprecated import deprecated_names
from geomndp.noising.schedule import (
    AbstractTimeGrid,
    LogSnrTimeGrid,
    PowerTimeGrid,
    UniformTimeGrid,
    stratified_uniform,
    times_from_uniform,
)
from geomndp.solve.dynamics import AbstractDynamics, ConditionalDynamics, Context
from geomndp.solve.exponential_adams import ExponentialAdams
from geomndp.solve.integrators import (
    RK4,
    AbstractFixedStepSolver,
    AbstractSolver,
    Adaptive,
    Euler,
    Heun,
    on_manifold,
)
from geomndp.solve.reverse_steps import (
    AbstractReverseStep,
    EulerMaruyama,
    Exponential,
    Multistep,
    Ode,
    ReverseState,
    ancestral,
    geodesic_step,
)

__all__ = [
    "RK4",
    "AbstractDynamics",
    "AbstractFixedStepSolver",
    "AbstractReverseStep",
    "AbstractSolver",
    "AbstractTimeGrid",
    "Adaptive",
    "ConditionalDynamics",
    "Context",
    "Euler",
    "EulerMaruyama",
    "Exponential",
    "ExponentialAdams",
    "Heun",
    "LogSnrTimeGrid",
    "Multistep",
    "Ode",
    "PowerTimeGrid",
    "ReverseState",
    "UniformTimeGrid",
    "ancestral",
    "geodesic_step",
    "on_manifold",
    "stratified_uniform",
    "times_from_uniform",
]

deprecated_names(
    __name__,
    {
        "AbstractField": "AbstractDynamics",
        "Field": "ConditionalDynamics",
        "AbstractReverse": "AbstractReverseStep",
        "AbstractFixed": "AbstractFixedStepSolver",
        "AbstractGrid": "AbstractTimeGrid",
        "Power": "PowerTimeGrid",
        "LogSnr": "LogSnrTimeGrid",
        "Uniform": "UniformTimeGrid",
        "moved": "geodesic_step",
        "time_grids": "geomndp.noising.schedule",
    },
)
