"""Metrics of a student as an ordinary model: those of its teacher's experiment."""

from __future__ import annotations

from typing import Any

from geomndp.experiments import registry
from geomndp.experiments.flow_maps.experiment import MODELS


def evaluate(model: Any, name: str, *, region: str, data: Any = None, **options: Any) -> dict:
    """Evaluate a student on the test functions of its teacher.

    Args:
        model: The student.
        name: Its name.
        region: Test set; "interpolation" stands for the first one of the teacher.
        data: Archive of tracks, where the teacher's functions come from one.
        **options: Further arguments of the teacher's `evaluate`.

    Returns:
        Metrics, JSON-serialisable.
    """
    found = registry.find(MODELS[name])
    region = region if region in found.regions else found.regions[0]
    known = {"data": data} if "data" in found.data_options else {}
    options |= found.options(**known)
    return found.evaluate(model, MODELS[name], region=region, **options)
