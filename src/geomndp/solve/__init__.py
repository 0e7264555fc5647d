"""Time grids, integrators and the fields that they integrate."""

from geomndp.solve.field import AbstractField, Context, Field, join_masks
from geomndp.solve.grids import AbstractGrid, LogSnr, Power, Uniform
from geomndp.solve.integrators import (
    RK4,
    AbstractFixed,
    AbstractSolver,
    Adaptive,
    Euler,
    Heun,
    on_manifold,
)
from geomndp.solve.reverse import (
    AbstractReverse,
    EulerMaruyama,
    Exponential,
    Multistep,
    Ode,
    ReverseState,
    ancestral,
    moved,
)

__all__ = [
    "RK4",
    "AbstractField",
    "AbstractFixed",
    "AbstractGrid",
    "AbstractReverse",
    "AbstractSolver",
    "Adaptive",
    "Context",
    "Euler",
    "EulerMaruyama",
    "Exponential",
    "Field",
    "Heun",
    "LogSnr",
    "Multistep",
    "Ode",
    "Power",
    "ReverseState",
    "Uniform",
    "ancestral",
    "join_masks",
    "moved",
    "on_manifold",
]
