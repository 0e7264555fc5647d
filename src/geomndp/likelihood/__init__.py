"""Log-densities of function values under a model, with their errors."""

from geomndp.geometry import AbstractDivergence, Exact, Hutchinson
from geomndp.likelihood.flow import Flow
from geomndp.likelihood.flow_difference import FlowDifference
from geomndp.likelihood.flow_map import AnyFlow, FlowMapDensity
from geomndp.likelihood.stepwise import Solution
from geomndp.predictive import LogProb

__all__ = [
    "AbstractDivergence",
    "AnyFlow",
    "Exact",
    "Flow",
    "FlowDifference",
    "FlowMapDensity",
    "Hutchinson",
    "LogProb",
    "Solution",
]
