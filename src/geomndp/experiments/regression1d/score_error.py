"""Error of a 1D model's score against the exact one: its regret, forecast while it trains."""

from __future__ import annotations

from geomndp.data import Regression1D
from geomndp.experiments.score_errors import joint_and_conditional
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
    """Joint and conditional score errors of a 1D model, nats per target.

    Args:
        model: Trained model.
        problem: Data, of a Gaussian process.
        seed: Seed of times and noise, and of the test functions.
        batch_size: Functions per batch.
        batches: Number of batches.
        cells: Number of strata of the diffusion time.
        test: Whether to use fixed test functions in place of fresh training functions.

    Returns:
        "joint" and "conditional" -> value and profile over time, JSON-serialisable.

    Raises:
        ValueError: If the data are not Gaussian.
    """
    gp = problem.exact()
    if test:
        data = problem.tasks(batch_size, seed=seed, dtype="float32")
    else:
        data = problem.generator(batch_size, dtype="float32")
    return joint_and_conditional(
        model, GaussianScore(gp), data, seed=seed, batches=batches, cells=cells
    )
