"""The models of fields on the sphere, and how they are trained."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import optax

from geomndp import _validation
from geomndp._types import Float, PRNGKeyArray
from geomndp.data import (
    AbstractGenerator,
    ContextSampler,
    FieldProblem,
    MultiDesignGenerator,
    sphere_designs,
    sphere_problem,
    stacked_generators,
)
from geomndp.data.fields import LENGTHSCALE
from geomndp.experiments.sphere_fields.experiment import MODELS
from geomndp.experiments.vector_fields import training as vector_fields
from geomndp.gp import GP
from geomndp.kernels import Diagonal, White
from geomndp.model import Model
from geomndp.nets import (
    AbstractNet,
    BiDimensionalAttention,
    SteerableMap,
    SteerableSphere,
    with_capacity,
)
from geomndp.nets.graph_network import neighbour_counts
from geomndp.noising import DEFAULT_SCHEDULE, OrnsteinUhlenbeck
from geomndp.score import NetworkScore
from geomndp.train import DenoisingLoss, adam, default_loss

RADIUS = vector_fields.RADIUS / LENGTHSCALE
"""Of the neighbours, in lengthscales: that of the planar models, so that training can start from
their parameters. Of 600 Fibonacci points 14 are nearer at the lengthscale of 0.35."""
NEIGHBOURS = 24
STEERABLE: dict[str, Any] = {
    "max_neighbours": NEIGHBOURS,
    "num_pooling_widths": 4,
    "density_features": True,
    "angular_pooling": True,  # the covariance of a gradient field in one step
}
NDP: dict[str, Any] = {
    "token_axis": "points",  # components of a vector go with no input dimension
    "pre_norm": True,
    "num_frequencies": 6,
    "min_wavelength": 0.4,
    "max_wavelength": 6.0,
}
SETS = 128


class SphereDesign(NamedTuple):
    """Random locations of training."""

    points: int
    densities: dict[str, tuple[float, float]]
    """Of every pattern of `data.sphere_designs`, over the density of the test points."""
    share: int
    """Functions per batch: those at the test points divided by this."""
    most_neighbours: int
    """Sets of points where a point has more are left out."""
    test_share: float | None = None
    """Share of the batches at the test points; None where these are none of the sets."""


# Two sizes alone, hence two programs to compile; 400 points with 80 neighbours are one chunk.
DESIGNS = {
    "even": SphereDesign(600, dict.fromkeys(("fibonacci", "uniform"), (1.0, 1.0)), 1, 32, 1 / 3),
    "uneven": SphereDesign(400, {"cap": (1.0, 4.5), "clusters": (1.0, 1.0)}, 4, 80),
}
GENERATOR_ORDER = ("even", "uneven", "even", "uneven", "even")
"""Generators that take turns in training, in this order."""
MIN_KEPT_SHARE = 0.05


def problem_for(name: str) -> FieldProblem:
    """Data of a model of a known law."""
    _validation.one_of("model", name, tuple(MODELS))
    return sphere_problem(MODELS[name].field, MODELS[name].lengthscale)


def radius_for(name: str) -> float:
    """Radius of the neighbours of a model, in radians."""
    return RADIUS * MODELS[name].lengthscale


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
    problem, network = problem_for(name), MODELS[name].network
    options |= {"compute_dtype": compute_dtype, "dtype": "float32", "key": key}
    net: AbstractNet
    if network == "ndp":
        net = BiDimensionalAttention(3, problem.codomain.size, **NDP | options)
    else:
        sizes: dict[str, Any] = STEERABLE | {"radius": radius_for(name)}
        make = SteerableSphere if network == "sphere" else SteerableMap
        net = make(problem.codomain.representations, **sizes | options)
        if with_capacity(net, problem.grid) is not net:
            got = net.config.max_neighbours
            raise ValueError(f"expected room for all neighbours of the points, got {got}")
    kernel = Diagonal(White(problem.variance), net.output_dim)
    model = Model(OrnsteinUhlenbeck(kernel, DEFAULT_SCHEDULE), NetworkScore(net))
    outputs = ("u", "v") if net.output_dim == 2 else [f"f{i}" for i in range(net.output_dim)]
    return model.with_variables(("lat", "lon"), outputs, domain="sphere")


def make_loss() -> DenoisingLoss:
    """Default loss, as of the planar models: dense times near zero, likelihood weights."""
    return default_loss("real")


def make_generator(
    name: str,
    batch_size: int = 32,
    functions: int | None = None,
    *,
    sets: int | None = None,
    problem: FieldProblem | None = None,
) -> tuple[AbstractGenerator, ...]:
    """Training fields: fresh ones, or a finite set of `functions` at the test points.

    Fresh fields of an equivariant model take turns at `sets` sets of locations of each design
    (`SETS` by default), to which the test points belong.
    """
    problem = problem_for(name) if problem is None else problem
    contexts = ContextSampler(few=2 * problem.contexts, few_share=0.75)
    if functions is not None or MODELS[name].network != "sphere":
        options = {"contexts": contexts, "num_functions": functions}
        return (problem.generator(batch_size, dtype="float32", **options),)
    sets = SETS if sets is None else sets
    sizes = {"num": sets, "radius": radius_for(name)}
    generators = {
        design_name: MultiDesignGenerator(
            gp_generators=stacked_generators(
                problem.gp, design_sets(design, problem.grid, seed=seed, **sizes), "float32"
            ),
            batch_size=max(batch_size // design.share, 1),
            contexts=contexts,
            first_share=design.test_share or 1 / sets,
            min_kept_share=MIN_KEPT_SHARE,
        )
        for seed, (design_name, design) in enumerate(DESIGNS.items())
    }
    return tuple(generators[design_name] for design_name in GENERATOR_ORDER)


def design_sets(
    design: SphereDesign,
    grid: Float[np.ndarray, "n 3"],
    *,
    num: int,
    radius: float,
    seed: int = 0,
) -> list[np.ndarray]:
    """Sets of points of a design that have no more neighbours than it allows.

    Args:
        design: The design.
        grid: The test points, the first set where the design has them.
        num: Number of sets.
        radius: That of the neighbours, in radians.
        seed: Seed of all of them.
    """
    unit, chord = len(grid) / (4 * math.pi), 2 * math.sin(radius / 2)
    densities = {p: (unit * low, unit * high) for p, (low, high) in design.densities.items()}
    drawn = sphere_designs(min(design.points, len(grid)), densities, 2 * num, seed=seed)
    most = design.most_neighbours
    fitting = [x for x in drawn if np.max(neighbour_counts(x, chord)) <= most]
    _validation.at_least(num, sets=len(fitting))
    return ([] if design.test_share is None else [grid]) + fitting[:num]


def make_optimiser(name: str, steps: int) -> optax.GradientTransformation:
    """Adam; pre-norm networks tolerate higher learning rates than the paper's 5e-4."""
    return adam(steps, peak=1e-3 if MODELS[name].network == "ndp" else 2e-3)
