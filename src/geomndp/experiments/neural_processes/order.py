"""In which order the models of the comparison are trained, and for how long. No JAX.

Those that the tables need first come first: a budget may end before the last one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from geomndp.experiments.neural_processes.experiment import FIELDS, NAMES, NeuralProcessSpec


class TrainingRun(NamedTuple):
    """A model with its numbers of steps and of functions per step.

    Attributes:
        name: Model of the experiment.
        steps: Training steps.
        batch_size: Functions per step.
        compute_dtype: Precision inside the network while it is trained; None for its own.
    """

    name: str
    steps: int
    batch_size: int
    compute_dtype: str | None = None


SIZES: dict[str, tuple[int, int]] = {
    "convcnp": (20_000, 32),
    "te-tnp": (20_000, 32),
    "convgnp": (20_000, 32),
    "anp": (20_000, 64),
    "flownp": (20_000, 64),
    "fullconvgnp": (10_000, 16),
    "convnp": (20_000, 16),
}
"""Method -> steps and batch size; products of grids and latent samples cost more per function."""
FIELD_SIZES: dict[str, tuple[int, int]] = {"convcnp": (20_000, 16), "steercnp": (12_000, 16)}
STAGES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("convcnp", ("gnp2020", "np2023", "paper")),
    ("te-tnp", ("gnp2020", "np2023", "paper")),
    ("convcnp", (FIELDS,)),
    ("steercnp", (FIELDS,)),
    ("fullconvgnp", ("gnp2020",)),
    ("convgnp", ("gnp2020", "np2023", "paper")),
    ("convnp", ("gnp2020", "np2023", "paper")),
    ("anp", ("gnp2020", "np2023", "paper")),
    ("flownp", ("gnp2020", "np2023", "paper")),
    ("fullconvgnp", ("np2023", "paper")),
)
"""Methods and suites, the most wanted first."""


def training_order() -> list[TrainingRun]:
    """All models, the most wanted first.

    Returns:
        Every model of the experiment once.
    """
    return list(_runs())


def _runs() -> Iterator[TrainingRun]:
    for method, suites in STAGES:
        for suite in suites:
            for spec, name in NAMES.items():
                if spec.method == method and spec.suite == suite:
                    yield TrainingRun(name, *_size(spec), _precision(spec))


def _size(spec: NeuralProcessSpec) -> tuple[int, int]:
    return (FIELD_SIZES if spec.suite == FIELDS else SIZES)[spec.method]


def _precision(spec: NeuralProcessSpec) -> str | None:
    """Half precision where the noise of the data is far above its rounding."""
    if spec.suite == FIELDS:
        return "bfloat16"
    noisy = spec.suite != "np2023"
    return "bfloat16" if spec.method == "te-tnp" and noisy else None
