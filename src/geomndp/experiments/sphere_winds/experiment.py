"""The experiment of global winds: its models, and where its parts are. No JAX."""

from __future__ import annotations

from geomndp.experiments.base import Experiment
from geomndp.experiments.metric_columns import likelihood_columns

MODELS = ("sphere-winds/gfs", "sphere-winds/gfs-residual")
"""The network alone, and one that corrects the score of a Gaussian process (`axial_gp`)."""
REGIONS = {"stations-200": 200, "stations-50": 50}
"""Tests -> number of stations that are observed."""

EXPERIMENT = Experiment.in_folder_of(
    __name__,
    name="sphere-winds",
    title="Winds over the Earth",
    models=MODELS,
    columns=likelihood_columns(
        "nats per point given stations (validation times), and what is lost to a Hodge GP",
        {"stations-200": "200 stations", "stations-50": "50 stations"},
    ),
    steps=2_100,
    batch_size=16,
    regions=tuple(REGIONS),
    data_options={"data": None},
)
