"""Scores of models: log-likelihoods beside the exact process, calibration, sample quality."""

from geomndp.evaluate.blocks import AbstractMeasurement, in_blocks
from geomndp.evaluate.calibration import ExactSampleScores, SampleScores, covered
from geomndp.evaluate.moments import fitted_kl
from geomndp.evaluate.paired import (
    LogProbs,
    PerTarget,
    Summary,
    exact_log_prob,
    model_log_prob,
    split,
    summarise,
)
from geomndp.evaluate.samples import crps, pit
from geomndp.evaluate.score_gap import ScoreGap, score_gap

__all__ = [
    "AbstractMeasurement",
    "ExactSampleScores",
    "LogProbs",
    "PerTarget",
    "SampleScores",
    "ScoreGap",
    "Summary",
    "covered",
    "crps",
    "exact_log_prob",
    "fitted_kl",
    "in_blocks",
    "model_log_prob",
    "pit",
    "score_gap",
    "split",
    "summarise",
]
