"""The comparison with neural processes: its rows, its models, and where its parts are. No JAX.

`neural-processes-gnp2020/se-convcnp` is a ConvCNP trained on the SE functions of the suite
`gnp2020`. Autoregressive rows need no training of their own: they roll out a trained model.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from geomndp.experiments.base import Deferred, Experiment
from geomndp.experiments.metric_columns import likelihood_columns
from geomndp.experiments.neural_processes.paper import SAWTOOTH_AND_MIXTURE
from geomndp.experiments.regression1d.experiment import REGIONS
from geomndp.experiments.regression1d.paper import DATASETS as SETS_1D
from geomndp.experiments.vector_fields.paper import DATASETS as FIELD_SETS

FIELDS = "fields"
SETS: dict[str, tuple[str, ...]] = {
    "paper": SETS_1D,
    "gnp2020": SETS_1D,
    "np2023": SAWTOOTH_AND_MIXTURE,
    FIELDS: FIELD_SETS,
}
"""Suite -> its sets, the columns of a table."""
TEST_REGIONS: dict[str, tuple[str, ...]] = {
    "paper": REGIONS,
    "gnp2020": REGIONS,
    "np2023": (*REGIONS, "extrapolation"),
    FIELDS: ("interpolation",),
}
"""Suite -> its sets of test inputs."""
EXACT = "exact law"


class MethodRow(NamedTuple):
    """A row of the tables: a method by its name, rolled out one target at a time or not."""

    method: str
    autoregressive: bool = False


ROWS_1D = {
    "ConvCNP": MethodRow("convcnp"),
    "AR-ConvCNP": MethodRow("convcnp", True),
    "TE-TNP": MethodRow("te-tnp"),
    "AR-TE-TNP": MethodRow("te-tnp", True),
    "GNP (FullConvGNP)": MethodRow("fullconvgnp"),
    "ConvGNP": MethodRow("convgnp"),
    "ConvNP": MethodRow("convnp"),
    "ANP": MethodRow("anp"),
    "FlowNP": MethodRow("flownp"),
}
ROWS_2D = {
    "ConvCNP": MethodRow("convcnp"),
    "AR-ConvCNP": MethodRow("convcnp", True),
    "SteerCNP": MethodRow("steercnp"),
}


def method_rows(suite: str) -> dict[str, MethodRow]:
    """Rows of trained neural processes in the tables of a suite, by label."""
    return ROWS_2D if suite == FIELDS else ROWS_1D


class NeuralProcessSpec(NamedTuple):
    """Data and method of one model."""

    suite: str
    dataset: str
    method: str


def spec_for(suite: str, dataset: str, method: str) -> NeuralProcessSpec:
    """Which model has a cell of the tables.

    SE and Matern functions are the same in the suites `paper` and `gnp2020`, and so is their model.
    """
    shared = suite == "paper" and dataset in ("se", "matern")
    return NeuralProcessSpec("gnp2020" if shared else suite, dataset, method)


def _models() -> Iterator[tuple[str, NeuralProcessSpec]]:
    for suite, sets in SETS.items():
        methods = dict.fromkeys(row.method for row in method_rows(suite).values())
        for method in methods:
            for dataset in sets:
                spec = spec_for(suite, dataset, method)
                if spec.suite == suite:
                    yield f"neural-processes-{suite}/{dataset}-{method}", spec


MODELS = dict(_models())
NAMES = {spec: name for name, spec in MODELS.items()}
PACKAGE = __name__.rpartition(".")[0]

EXPERIMENT = Experiment.in_folder_of(
    __name__,
    name="neural-processes",
    title="Neural processes\n\nNats per target; pairs are means and standard errors over test "
    "functions: the same for the exact law and all neural processes of a column, others for "
    "diffusion models whose numbers stand on their cards. A cell that was not trained is empty. "
    "Marginal nats: one target at a time given the context, of an autoregressive model its first "
    "step. CRPS and coverage are those of single values, of an autoregressive model of its first "
    "step. Published rows are quoted, not measured here.",
    models=tuple(MODELS),
    columns=likelihood_columns(
        "nats per target and regret to the exact law, in and out of the training range",
        {region: region for region in REGIONS},
    ),
    steps=50_000,
    batch_size=64,
    regions=(*REGIONS, "extrapolation", "interpolation"),
    any_process=True,
    measure=Deferred(f"{PACKAGE}.measure", "measure"),
)
