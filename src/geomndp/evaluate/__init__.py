"""Evaluation of anything that can be conditioned: log-likelihood, calibration, metrics, physics."""

from geomndp._deprecated import deprecated_names
from geomndp.evaluate.calibration import Calibration, calibration, interval_coverage
from geomndp.evaluate.conformal import Conformal, conformal
from geomndp.evaluate.control_variate import ControlledLogLikelihoods, controlled_log_likelihood
from geomndp.evaluate.drawn_tasks import random_tasks
from geomndp.evaluate.ensemble import crps, pit
from geomndp.evaluate.flow_moments import FlowKL, balanced_noise, flow_kl, flow_samples
from geomndp.evaluate.gaussian_kl import gp_log_probs, moment_matched_kl, whitened
from geomndp.evaluate.geodesic import (
    PathMetrics,
    ball_coverage,
    ball_pit,
    energy_score,
    mean_error,
    path_metrics,
    sample_distance,
)
from geomndp.evaluate.grid_model import GridModel
from geomndp.evaluate.log_likelihood import (
    LogLikelihoods,
    PerTarget,
    Summary,
    log_likelihood,
    summarise,
)
from geomndp.evaluate.metrics import metrics
from geomndp.evaluate.on_tasks import on_tasks
from geomndp.evaluate.physics import field_physics
from geomndp.evaluate.resumable import AbstractMeasurement, RunOptions, run_resumable
from geomndp.evaluate.score_error import ScoreError, score_error
from geomndp.evaluate.sphere_physics import sphere_physics
from geomndp.evaluate.table_tasks import read_function_rows, spread_tasks
from geomndp.evaluate.task_measurement import FLOW_STEPS, PROBES, task_flow
from geomndp.evaluate.task_metrics import TaskMetrics, compare, paired_differences

__all__ = [
    "FLOW_STEPS",
    "PROBES",
    "AbstractMeasurement",
    "Calibration",
    "Conformal",
    "ControlledLogLikelihoods",
    "FlowKL",
    "GridModel",
    "LogLikelihoods",
    "PathMetrics",
    "PerTarget",
    "RunOptions",
    "ScoreError",
    "Summary",
    "TaskMetrics",
    "balanced_noise",
    "ball_coverage",
    "ball_pit",
    "calibration",
    "compare",
    "conformal",
    "controlled_log_likelihood",
    "crps",
    "energy_score",
    "field_physics",
    "flow_kl",
    "flow_samples",
    "gp_log_probs",
    "interval_coverage",
    "log_likelihood",
    "mean_error",
    "metrics",
    "moment_matched_kl",
    "on_tasks",
    "paired_differences",
    "path_metrics",
    "pit",
    "random_tasks",
    "read_function_rows",
    "run_resumable",
    "sample_distance",
    "score_error",
    "sphere_physics",
    "spread_tasks",
    "summarise",
    "task_flow",
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
