"""The experiment of fields on the sphere: its models, and where its parts are. No JAX.

`sphere-fields/curl-free` is equivariant under rotations and reflections of the sphere;
`sphere-fields/curl-free-ndp` sees coordinates of R^3 without symmetry (NDP*), and
`sphere-fields/curl-free-map` is an E(2) model on the map of longitudes and latitudes. `-short` has
the shorter lengthscale.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from geomndp.experiments.base import Deferred, Experiment
from geomndp.experiments.metric_columns import likelihood_columns

FIELDS = ("curl-free", "div-free", "hodge", "scalar")
LENGTHSCALE, SHORT_LENGTHSCALE = 0.35, 0.2
NETWORKS = {"": "sphere", "-ndp": "ndp", "-map": "map"}
"""End of a model's name -> its network."""
REGIONS = ("interpolation", "uniform", "third", "triple", "clusters")
"""600 Fibonacci points; as many uniform ones, a third and three times as many; clusters."""


class SphereFieldSpec(NamedTuple):
    """Law of the data of one model, its lengthscale in radians, and the network."""

    field: str
    lengthscale: float
    network: str


def _models() -> Iterator[tuple[str, SphereFieldSpec]]:
    for field in FIELDS:
        for end, network in NETWORKS.items():
            yield f"sphere-fields/{field}{end}", SphereFieldSpec(field, LENGTHSCALE, network)
    for field in FIELDS:
        spec = SphereFieldSpec(field, SHORT_LENGTHSCALE, "sphere")
        yield f"sphere-fields/{field}-short", spec


MODELS = dict(_models())
"""Models of laws whose exact process is known."""

EXPERIMENT = Experiment.in_folder_of(
    __name__,
    name="sphere-fields",
    title="Fields on the sphere",
    models=tuple(MODELS),
    exact=Deferred("geomndp.experiments.sphere_fields.training", "exact_process"),
    columns=likelihood_columns(
        "nats per point given 25 others, and regret to the exact GP", {"interpolation": "nats"}
    ),
    steps=80_000,
    batch_size=32,
    regions=REGIONS,
    data_options={"functions": None},
)
