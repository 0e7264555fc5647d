"""The 1D regression experiment: its models, and where its parts are. No JAX.

`regression1d/se` is the translation-invariant model of the suite `paper`, `regression1d/se-ndp` the
same without symmetry (NDP*), `regression1d-gnp2020/se` and `regression1d-np2023/sawtooth` those of
the suites `gnp2020` and `np2023`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from geomndp.experiments.base import Deferred, Experiment
from geomndp.experiments.metric_columns import likelihood_columns
from geomndp.experiments.regression1d.paper import DATASETS

REGIONS = ("in-range", "out-of-range")


class RegressionSpec(NamedTuple):
    """Data of one model, and whether it is translation-invariant (T(1)) or not (NDP*)."""

    suite: str
    dataset: str
    invariant: bool


def _models() -> Iterator[tuple[str, RegressionSpec]]:
    for dataset in DATASETS:
        yield f"regression1d/{dataset}", RegressionSpec("paper", dataset, True)
        yield f"regression1d/{dataset}-ndp", RegressionSpec("paper", dataset, False)
    for dataset in DATASETS:
        yield f"regression1d-gnp2020/{dataset}", RegressionSpec("gnp2020", dataset, True)
    for dataset in ("sawtooth", "mixture"):  # the others differ from `gnp2020` in noise alone
        yield f"regression1d-np2023/{dataset}", RegressionSpec("np2023", dataset, True)


MODELS = dict(_models())
NAMES = {spec: name for name, spec in MODELS.items()}
SUITES = ("paper", "gnp2020")
"""Suites with a table of their own; `np2023` stands in that of the neural processes."""


EXPERIMENT = Experiment.in_folder_of(
    __name__,
    name="regression1d",
    title="1D regression",
    models=tuple(MODELS),
    exact=Deferred("geomndp.experiments.regression1d.training", "exact_process"),
    columns=likelihood_columns(
        "nats per target and regret to the exact GP, in and out of the training range",
        {region: region for region in REGIONS},
    ),
    steps=19_200,  # the paper's 300 epochs of 64 batches
    batch_size=256,
    regions=REGIONS,
    quick_options={"probes": 8},
)
