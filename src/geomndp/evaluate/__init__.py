"""Scores of models: log-likelihoods beside the exact process, calibration, sample quality."""

from geomndp._deprecated import deprecated_names
from geomndp.evaluate.calibration import ExactSampleScores, SampleScores, interval_coverage
from geomndp.evaluate.ensemble import crps, pit
from geomndp.evaluate.gaussian_kl import moment_matched_kl
from geomndp.evaluate.geodesic import (
    PathMetrics,
    ball_coverage,
    ball_pit,
    energy_score,
    mean_error,
    path_metrics,
    sample_distance,
)
from geomndp.evaluate.log_likelihood import (
    LogProbs,
    PerTarget,
    Summary,
    exact_log_prob,
    model_log_prob,
    split,
    summarise,
)
from geomndp.evaluate.on_grid import GridLogProbs, InPlace, gp_log_probs
from geomndp.evaluate.physics import field_physics
from geomndp.evaluate.resumable import AbstractMeasurement, run_resumable
from geomndp.evaluate.score_error import ScoreError, score_error
from geomndp.evaluate.whitened import whitened

__all__ = [
    "AbstractMeasurement",
    "ExactSampleScores",
    "GridLogProbs",
    "InPlace",
    "LogProbs",
    "PathMetrics",
    "PerTarget",
    "SampleScores",
    "ScoreError",
    "Summary",
    "ball_coverage",
    "ball_pit",
    "crps",
    "energy_score",
    "exact_log_prob",
    "field_physics",
    "gp_log_probs",
    "interval_coverage",
    "mean_error",
    "model_log_prob",
    "moment_matched_kl",
    "path_metrics",
    "pit",
    "run_resumable",
    "sample_distance",
    "score_error",
    "split",
    "summarise",
    "whitened",
]

deprecated_names(
    __name__,
    {
        "ScoreGap": "ScoreError",
        "PathScores": "PathMetrics",
        "blocks": "resumable",
        "central_rank": "ball_pit",
        "covered": "interval_coverage",
        "frechet_mean": "geomndp.geometry:frechet_mean",
        "fitted_kl": "moment_matched_kl",
        "in_blocks": "run_resumable",
        "moments": "gaussian_kl",
        "path_scores": "path_metrics",
        "samples": "ensemble",
        "score_gap": "geomndp.evaluate.score_error:score_error",
    },
)
