"""Metrics of a model of fields on the sphere, beside the exact and the diagonal process."""

from __future__ import annotations

import numpy as np

from geomndp import _validation
from geomndp._types import Float
from geomndp.data import FieldProblem
from geomndp.data.sphere_designs import sample_sphere_pattern
from geomndp.experiments.sphere_fields.experiment import REGIONS
from geomndp.experiments.sphere_fields.training import problem_for
from geomndp.experiments.vector_fields.evaluate import evaluate_on
from geomndp.model import Model
from geomndp.nets import with_capacity

FACTORS = {"uniform": 1.0, "third": 1 / 3, "triple": 3.0, "clusters": 1.0}
"""Number of points over that of the problem, by region."""


def evaluate(
    model: Model,
    name: str,
    *,
    region: str = "interpolation",
    probes: int | None = None,
    functions: int | None = None,
    **options,
) -> dict:
    """Evaluate a model on fixed test fields of its law.

    Args:
        model: Trained model.
        name: Model of the experiment whose data are used.
        region: One of `REGIONS`.
        probes: Random probes of the divergence; eight by default.
        functions: Size of the training set, which makes no difference here.
        **options: Further arguments of `evaluate_region`.

    Returns:
        Metrics, JSON-serialisable.

    Raises:
        ValueError: For another region.
    """
    return evaluate_region(model, problem_for(name), region, probes=probes or 8, **options)


def locations(region: str, problem: FieldProblem, seed: int = 0) -> Float[np.ndarray, "n 3"]:
    """Unit vectors of the test fields of a region, the problem's own or random ones."""
    _validation.one_of("region", region, REGIONS)
    if region == REGIONS[0]:
        return problem.grid
    points = round(FACTORS[region] * len(problem.grid))
    pattern = "clusters" if region == "clusters" else "uniform"
    return sample_sphere_pattern(pattern, points, 1.0, np.random.default_rng(seed))


def evaluate_region(model: Model, problem: FieldProblem, region: str, **options) -> dict:
    """Log-likelihood per target given 25 observed points and regret: see `evaluate_on`.

    The model gets room for all neighbours.
    """
    moved = problem._replace(grid=locations(region, problem))
    enlarged = with_capacity(model, np.asarray(moved.grid, np.float32))
    return evaluate_on(enlarged, moved, **options) | {"points": len(moved.grid)}
