"""Random functions of every set of the comparison, and their laws."""

from __future__ import annotations

from geomndp.baselines.exact_laws import exact_law
from geomndp.data import FieldProblem, Regression1D, field_problem, regression1d
from geomndp.experiments.neural_processes.experiment import FIELDS
from geomndp.predictive import AbstractProcess


def problem_for(suite: str, dataset: str) -> Regression1D | FieldProblem:
    """Random functions of a set, with the protocol of their tests."""
    return field_problem(dataset) if suite == FIELDS else regression1d(suite, dataset)


def exact_process(problem: Regression1D | FieldProblem) -> AbstractProcess | None:
    """The law of the data, where it can be computed."""
    return problem.gp if isinstance(problem, FieldProblem) else exact_law(problem.process)
