"""Log-densities of function values under a model, with their errors."""

from geomndp.geometry import AbstractDivergence, Exact, Hutchinson
from geomndp.likelihood.flow import Flow, LogProb
from geomndp.likelihood.stepwise import Solution

__all__ = ["AbstractDivergence", "Exact", "Flow", "Hutchinson", "LogProb", "Solution"]
