"""Shipped models at work: a page of figures, each with numbers to compare."""

from geomndp.experiments.demo.experiment import DemoResult, run_demo
from geomndp.experiments.demo.report import Number, Section

__all__ = ["DemoResult", "Number", "Section", "run_demo"]
