"""The models of the vector-field table, and how they are trained."""

from __future__ import annotations

import math
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import optax

from geomndp import _validation
from geomndp._types import PRNGKeyArray
from geomndp.data import (
    AbstractGenerator,
    ContextSampler,
    FieldProblem,
    MultiDesignGenerator,
    designs,
    field_problem,
    stacked_generators,
)
from geomndp.data.point_designs import CLUSTERED_LATTICE, CLUSTERS
from geomndp.experiments.vector_fields.experiment import MODELS
from geomndp.gp import GP
from geomndp.kernels import Diagonal, White
from geomndp.model import Model
from geomndp.nets import AbstractNet, BiDimensionalAttention, Steerable2, num_dropped_edges
from geomndp.noising import DEFAULT_SCHEDULE, OrnsteinUhlenbeck
from geomndp.score import NetworkScore
from geomndp.train import DenoisingLoss, adam, default_loss

PAPER_FUNCTIONS = 80_000
# Beyond the fifth ring of neighbours (20 points) and below the next of the grid of spacing 20 / 29.
RADIUS = 1.95
# All 20 on the grid. Of scattered or denser locations the nearest, whose weights are the largest.
NEIGHBOURS = 24
NDP = {
    "token_axis": "points",  # components of a vector go with input dimensions: no exchange of these
    "pre_norm": True,
    "num_frequencies": 6,
    "min_wavelength": 2.5,
    "max_wavelength": 40.0,
}
NUM_POOLING_WIDTHS = 4  # Gaussian pooling over all points
SETS = 128


class TrainingDesign(NamedTuple):
    """Random locations of training; all sets of one design have one compiled program."""

    points: int
    densities: dict[str, tuple[float, float]]
    """Of every pattern of `data.designs`, over the density of the grid."""
    min_kept_share: float
    """Smallest share of the points that a thinned function keeps."""
    share: int
    """Functions per batch: the batch size divided by this."""
    grid_share: float = 0.0
    """Share of the batches on the grid of the problem, which has as many points."""


DENSE_PATTERNS = {
    "disc": (1.0, 9.5),
    CLUSTERS: (0.3, 1.2),
    "lattice": (1.0, 9.5),
    CLUSTERED_LATTICE: (0.3, 1.2),
}
# Irregular sparse points and clusters are the hardest: a sparse lattice is learnt from the grid.
DESIGNS = {
    "sparse": TrainingDesign(
        648, dict.fromkeys(("disc", "square"), (0.25, 0.8)), 0.02, 1, grid_share=0.3
    ),
    "dense": TrainingDesign(400, DENSE_PATTERNS, 0.02, 4),
}
GENERATOR_ORDER = ("sparse", "dense", "sparse", "dense", "sparse")
"""Generators that take turns in training, in this order."""


def problem_for(name: str) -> FieldProblem:
    """Data of a model."""
    _validation.one_of("model", name, tuple(MODELS))
    return field_problem(MODELS[name].field)


def exact_process(name: str) -> GP:
    """The Gaussian process that the fields of a model follow.

    Args:
        name: One of `MODELS`.
    """
    return problem_for(name).gp


def make_model(
    name: str, *, key: PRNGKeyArray, compute_dtype: str | None = None, **options
) -> Model:
    """Untrained model: white limit with the data's variance, beta from 1e-4 to 15.

    Options go to the network, such as `num_pooling_widths=0` for neighbours only.
    """
    problem = problem_for(name)
    options |= {"compute_dtype": compute_dtype, "dtype": "float32", "key": key}
    net: AbstractNet
    if MODELS[name].equivariant:
        sizes = {
            "representations": problem.codomain.representations,
            "radius": RADIUS,
            "max_neighbours": NEIGHBOURS,
            "num_pooling_widths": NUM_POOLING_WIDTHS,
            "density_features": True,
            "angular_pooling": True,  # the covariance of a gradient field in one step
        }
        net = Steerable2(**sizes | options)
        missed = int(num_dropped_edges(net, jnp.asarray(problem.grid, jnp.float32)))
        if missed:
            raise ValueError(f"expected room for all neighbours on the grid, got {missed} too many")
    else:
        dims = problem.codomain.dim, problem.codomain.size
        net = BiDimensionalAttention(*dims, **NDP | options)
    kernel = Diagonal(White(problem.variance), problem.codomain.size)
    model = Model(OrnsteinUhlenbeck(kernel, DEFAULT_SCHEDULE), NetworkScore(net))
    size = problem.codomain.size
    return model.with_variables(
        ("x", "y"), ("u", "v") if size == 2 else [f"f{i}" for i in range(size)]
    )


def make_loss() -> DenoisingLoss:
    """Default loss, as of the 1D models: dense times near zero, likelihood weights."""
    return default_loss("real")


def make_generator(
    name: str,
    batch_size: int = 32,
    functions: int | None = None,
    *,
    sets: int = SETS,
    problem: FieldProblem | None = None,
) -> tuple[AbstractGenerator, ...]:
    """Training fields: a finite set of `functions` on the grid (the paper: 80,000), or fresh ones.

    Fresh fields of an equivariant model take turns on the grid and at `sets` sets of locations of
    each design: on one grid alone it would learn five distances and one density.
    """
    problem = problem_for(name) if problem is None else problem
    contexts = ContextSampler(few=2 * problem.contexts, few_share=0.75)
    options = {"contexts": contexts, "num_functions": functions}
    if functions is not None or not MODELS[name].equivariant:
        return (problem.generator(batch_size, dtype="float32", **options),)
    generators = {
        design_name: _design_generator(problem, design, batch_size, sets, seed)
        for seed, (design_name, design) in enumerate(DESIGNS.items())
    }
    return tuple(generators[design_name] for design_name in GENERATOR_ORDER)


def _design_generator(
    problem: FieldProblem, design: TrainingDesign, batch_size: int, sets: int, seed: int
) -> MultiDesignGenerator:
    """Fresh fields at random locations of one design, and on the grid where it has a share."""
    unit = len(problem.grid) / (math.pi * np.max(np.linalg.norm(problem.grid, axis=1)) ** 2)
    densities = {
        pattern: (unit * low, unit * high) for pattern, (low, high) in design.densities.items()
    }
    points = len(problem.grid) if design.grid_share else design.points
    point_sets = designs(points, densities, sets, seed=seed)
    if design.grid_share:
        point_sets = [np.asarray(problem.grid), *point_sets]
    return MultiDesignGenerator(
        gp_generators=stacked_generators(problem.gp, point_sets, "float32"),
        batch_size=max(batch_size // design.share, 1),
        contexts=ContextSampler(few=2 * problem.contexts, few_share=0.75),
        first_share=design.grid_share or 1 / sets,
        min_kept_share=design.min_kept_share,
    )


def make_optimiser(name: str, steps: int) -> optax.GradientTransformation:
    """Adam; pre-norm networks tolerate higher learning rates than the paper's 5e-4."""
    return adam(steps, peak=2e-3 if MODELS[name].equivariant else 1e-3)
