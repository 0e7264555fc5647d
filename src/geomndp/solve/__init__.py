"""Time grids, integrators and the fields that they integrate."""

from geomndp.solve.field import Context, Field
from geomndp.solve.grids import AbstractGrid, LogSnr, Power, Uniform
from geomndp.solve.integrators import RK4, AbstractFixed, AbstractSolver, Adaptive, Euler, Heun
from geomndp.solve.reverse import (
    AbstractReverse,
    EulerMaruyama,
    Exponential,
    Multistep,
    ReverseState,
    ancestral,
)

__all__ = [
    "RK4",
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
    "Power",
    "ReverseState",
    "Uniform",
    "ancestral",
]
