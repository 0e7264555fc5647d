"""Warnings of the package. Plain Python, so that the command line knows them without JAX."""

from __future__ import annotations


class OutsideTrainingWarning(UserWarning):
    """A request leaves what the model saw in training, where its answers are not reliable."""


class FirstOrderNoiseWarning(UserWarning):
    """Known noise went through a transform of the outputs to first order only."""
