"""Rows of diffusion models in the comparison, and the names of their models. No JAX."""

from __future__ import annotations

from geomndp.experiments.neural_processes.experiment import FIELDS, SETS
from geomndp.experiments.regression1d.experiment import NAMES as NAMES_1D, RegressionSpec
from geomndp.experiments.regression1d.likelihood_table import LABELS as LABELS_1D
from geomndp.experiments.vector_fields.experiment import NAMES as FIELD_NAMES, VectorFieldSpec
from geomndp.experiments.vector_fields.likelihood_table import LABELS as FIELD_LABELS

DIFFUSION: dict[str, tuple[str, ...]] = {
    suite: tuple(FIELD_LABELS if suite == FIELDS else LABELS_1D) for suite in SETS
}
"""Suite -> rows of diffusion models, ours first."""


def diffusion_name(suite: str, dataset: str, label: str) -> str | None:
    """Name of the diffusion model of a cell; None where the experiments have none.

    Args:
        suite: A key of `SETS`.
        dataset: One of its sets.
        label: Row of the table, one of `DIFFUSION`.

    Returns:
        Name of the model in its own experiment.
    """
    if suite == FIELDS:
        return FIELD_NAMES.get(VectorFieldSpec(dataset, FIELD_LABELS[label]))
    return NAMES_1D.get(RegressionSpec(suite, dataset, LABELS_1D[label]))
