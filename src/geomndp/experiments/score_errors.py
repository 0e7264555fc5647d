"""Joint and conditional score errors of a model, JSON-serialisable; for every experiment."""

from __future__ import annotations

from typing import Any

import jax.random as jr

from geomndp.evaluate import ScoreError, score_error
from geomndp.model import Model


def joint_and_conditional(
    model: Model, exact: Any, tasks: Any, *, seed: int = 0, batches: int, cells: int
) -> dict[str, dict]:
    """Score errors of both modes, nats per target.

    Args:
        model: Trained model.
        exact: Exact score of the data.
        tasks: Functions, or a generator of them, as `evaluate.score_error` takes them.
        seed: Seed of times and noise, the same for both modes.
        batches: Number of batches.
        cells: Number of strata of the diffusion time.

    Returns:
        "joint" and "conditional" -> what `as_dict` gives.
    """
    options: dict[str, Any] = {"key": jr.key(seed), "batches": batches, "cells": cells}
    return {
        mode: as_dict(score_error(model, exact, tasks, mode=mode, **options))
        for mode in ("joint", "conditional")
    }


def as_dict(error: ScoreError) -> dict:
    """Make a score error JSON-serialisable: a pair, and its profile over time."""
    return {
        "gap": [error.value, error.standard_error],
        "times": error.times.tolist(),
        "profile": error.profile.tolist(),
        "profile_error": error.profile_error.tolist(),
    }
