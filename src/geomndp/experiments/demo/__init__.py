"""Shipped models at work: a page of figures, each with numbers that can be judged."""

from geomndp.experiments.demo.part import Number, Part
from geomndp.experiments.demo.run import Demo, run_demo

__all__ = ["Demo", "Number", "Part", "run_demo"]
