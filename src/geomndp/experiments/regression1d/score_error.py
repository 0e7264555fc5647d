"""Error of a 1D model's score against the exact one: its regret, forecast while it trains."""

from __future__ import annotations

import jax.random as jr

from geomndp.data import Regression1D
from geomndp.evaluate import ScoreError, score_error
from geomndp.model import Model
from geomndp.score import GaussianScore


def score_errors(
    model: Model,
    problem: Regression1D,
    *,
    seed: int = 0,
    batch_size: int = 256,
    batches: int = 16,
    cells: int = 32,
    test: bool = False,
) -> dict:
    """Both kinds of gap on fresh training functions, or on fixed test functions (`test`).

    Nats per target, JSON-serialisable; refused where the data are not Gaussian.
    """
    gp = problem.exact()
    if test:
        data = problem.tasks(batch_size, seed=seed, dtype="float32")
    else:
        data = problem.generator(batch_size, dtype="float32")
    joint, conditional = (
        score_error(
            model,
            GaussianScore(gp),
            data,
            key=jr.key(seed),
            mode=kind,
            batches=batches,
            cells=cells,
        )
        for kind in ("joint", "conditional")
    )
    return {"joint": as_dict(joint), "conditional": as_dict(conditional)}


def as_dict(gap: ScoreError) -> dict:
    """A gap for JSON: a pair, and its profile over time."""
    return {
        "gap": [gap.value, gap.standard_error],
        "times": gap.times.tolist(),
        "profile": gap.profile.tolist(),
        "profile_error": gap.profile_error.tolist(),
    }
