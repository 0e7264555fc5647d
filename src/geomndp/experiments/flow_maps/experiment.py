"""The students of shipped models, and where their parts are; that of tracks does not ship. No JAX.

`regression1d/se-student` is the student of `regression1d/se`. `geomndp distil` makes one; data,
evaluation and exact process are those of the teacher.
"""

from __future__ import annotations

from geomndp.experiments.base import Deferred, Experiment

TEACHERS = (
    "regression1d/se",
    "regression1d/matern",
    "regression1d/weakly-periodic",
    "vector-fields/div-free",
    "cyclones/ibtracs",
)
MODELS = {f"{teacher}-student": teacher for teacher in TEACHERS}
"""Student -> its teacher."""

EXPERIMENT = Experiment.in_folder_of(
    __name__,
    name="flow-maps",
    title="Flow maps",
    models=tuple(MODELS),
    exact=Deferred("geomndp.experiments.flow_maps.training", "exact_process"),
    steps=20_000,
    batch_size=256,
    data_options={"data": None},
)
