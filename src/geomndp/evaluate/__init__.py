"""Scores of models: log-likelihoods beside the exact process, calibration, sample quality."""

from geomndp.evaluate.blocks import AbstractMeasurement, in_blocks
from geomndp.evaluate.calibration import ExactSampleScores, SampleScores, covered
from geomndp.evaluate.geodesic import (
    PathScores,
    ball_coverage,
    central_rank,
    energy_score,
    frechet_mean,
    mean_error,
    path_scores,
    sample_distance,
)
from geomndp.evaluate.moments import fitted_kl
from geomndp.evaluate.on_grid import GridLogProbs, InPlace, gaussian_rows
from geomndp.evaluate.paired import (
    LogProbs,
    PerTarget,
    Summary,
    exact_log_prob,
    model_log_prob,
    split,
    summarise,
)
from geomndp.evaluate.physics import field_physics
from geomndp.evaluate.samples import crps, pit
from geomndp.evaluate.score_gap import ScoreGap, score_gap
from geomndp.evaluate.whitened import whitened

__all__ = [
    "AbstractMeasurement",
    "ExactSampleScores",
    "GridLogProbs",
    "InPlace",
    "LogProbs",
    "PathScores",
    "PerTarget",
    "SampleScores",
    "ScoreGap",
    "Summary",
    "ball_coverage",
    "central_rank",
    "covered",
    "crps",
    "energy_score",
    "exact_log_prob",
    "field_physics",
    "fitted_kl",
    "frechet_mean",
    "gaussian_rows",
    "in_blocks",
    "mean_error",
    "model_log_prob",
    "path_scores",
    "pit",
    "sample_distance",
    "score_gap",
    "split",
    "summarise",
    "whitened",
]
