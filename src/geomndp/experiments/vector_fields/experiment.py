"""The vector-field experiment: its models, and where its parts are. No JAX.

`vector-fields/curl-free` is E(2)-equivariant, `vector-fields/curl-free-ndp` the same without
symmetry (NDP*).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from geomndp.experiments.base import Deferred, Experiment
from geomndp.experiments.metric_columns import likelihood_columns
from geomndp.experiments.vector_fields.paper import DATASETS

TENSORS = ("hessian",)
"""Fields besides those of the paper's table, of an equivariant model only."""


class VectorFieldSpec(NamedTuple):
    """Data of one model, and whether it is E(2)-equivariant or has no symmetry (NDP*)."""

    field: str
    equivariant: bool


def _models() -> Iterator[tuple[str, VectorFieldSpec]]:
    for field in DATASETS:
        yield f"vector-fields/{field}", VectorFieldSpec(field, True)
        yield f"vector-fields/{field}-ndp", VectorFieldSpec(field, False)
    for field in TENSORS:
        yield f"vector-fields/{field}", VectorFieldSpec(field, True)


MODELS = dict(_models())
NAMES = {spec: name for name, spec in MODELS.items()}


EXPERIMENT = Experiment.in_folder_of(
    __name__,
    name="vector-fields",
    title="Vector fields",
    models=tuple(MODELS),
    exact=Deferred("geomndp.experiments.vector_fields.training", "exact_process"),
    columns=likelihood_columns(
        "nats per point given 25 others, and regret to the exact GP", {"interpolation": "nats"}
    ),
    steps=80_000,  # as in the paper
    batch_size=32,
    data_options={"functions": None},
)
