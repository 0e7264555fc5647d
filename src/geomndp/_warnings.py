"""Warnings of the package. Plain Python, so that the command line knows them without JAX."""

from __future__ import annotations


class OutsideTrainingWarning(UserWarning):
    """A request leaves what the model saw in training, where its answers are not reliable."""


class ApproximationWarning(UserWarning):
    """An answer is approximate in a way that its error estimates do not show."""


class FirstOrderNoiseWarning(ApproximationWarning):
    """Known noise went through a transform of the outputs to first order only."""
