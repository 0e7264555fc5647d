"""What students have from their teachers' experiments; they are made by `geomndp distil`."""

from __future__ import annotations

from typing import Any

from geomndp.experiments import registry
from geomndp.experiments.flow_maps.experiment import MODELS


def make_model(name: str, **options: Any) -> Any:
    """Refuse to train a student from scratch.

    Args:
        name: Name of the student.
        **options: Not used.

    Raises:
        ValueError: Always, in a sentence that names the command.
    """
    raise ValueError(
        "expected a model that is trained on functions, got a student; use: "
        f"geomndp distil {MODELS[name]}"
    )


def make_generator(name: str, batch_size: int, data: str | None = None) -> Any:
    """Training functions of the teacher.

    Args:
        name: Name of the student.
        batch_size: Functions per step.
        data: Archive of tracks, where the teacher learnt from one.
    """
    found = registry.find(MODELS[name])
    known = {"data": data} if "data" in found.data_options else {}
    return found.generator(MODELS[name], batch_size, **found.options(**known))


def make_loss() -> Any:
    """Refuse: the loss holds the teacher.

    Raises:
        ValueError: Always.
    """
    raise ValueError("expected a loss without a teacher, got that of students; use geomndp distil")


def make_optimiser(name: str, steps: int) -> Any:
    """Optimiser of the teacher.

    Args:
        name: Name of the student.
        steps: Number of training steps.
    """
    return registry.find(MODELS[name]).optimiser(MODELS[name], steps)


def exact_process(name: str) -> Any:
    """The exact process of the teacher's functions, None where it is unknown.

    Args:
        name: Name of the student.
    """
    return registry.find(MODELS[name]).exact(MODELS[name])
