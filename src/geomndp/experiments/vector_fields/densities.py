"""Regret of a field model where points are sparser, denser, clustered or coincident.

python -m geomndp.experiments.vector_fields.densities vector-fields/se --num 128 --out results.json

The exact process is known at any points. Coincident rows are noisy values of one latent field,
each with its own noise of the process.
"""

from __future__ import annotations

import argparse
import math
import time
from os import PathLike
from typing import Any, NamedTuple

import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _model_files, _validation
from geomndp._types import Batch, Float
from geomndp.data import FieldProblem
from geomndp.data.grids import random_mask, white_noise
from geomndp.data.point_designs import sample_pattern
from geomndp.experiments import results
from geomndp.experiments.table import pair
from geomndp.experiments.vector_fields.evaluate import evaluate_tasks, score_errors_of
from geomndp.experiments.vector_fields.training import problem_for
from geomndp.likelihood import Flow, Hutchinson
from geomndp.model import Model, load
from geomndp.nets import graph_nets, neighbour_counts, with_capacity
from geomndp.solve import RK4, Heun

DENSITIES = {"third": 1 / 3, "same": 1.0, "triple": 3.0, "tenfold": 10.0}
NUM_POINTS = {"third": 216, "same": 648, "triple": 648, "tenfold": 600}
SPECIAL = ("cluster", "coincident-context", "coincident")
DESIGNS = (
    *(f"{pattern}-{name}" for pattern in ("uniform", "lattice") for name in DENSITIES),
    *SPECIAL,
)
COINCIDENT = 30
CLUSTER, CLUSTER_RADIUS = 160, 0.5


class PointDesign(NamedTuple):
    """Points, the first `fixed` of them observed in every field, and `drawn` others at random."""

    x: Float[np.ndarray, "n 2"]
    fixed: int
    drawn: int


def design(name: str, problem: FieldProblem, seed: int = 0) -> PointDesign:
    """Points of one design, in the plane of a problem's grid.

    "uniform-..." and "lattice-...": discs of a third, one, three and ten times the grid's density.
    "cluster": 160 points within 0.5 beside half of the grid. "coincident-context": half of the grid
    given 30 observations at one location. "coincident": further observations elsewhere, 10 targets
    at that location and 30 at another.
    """
    _validation.one_of("design", name, DESIGNS)
    random, grid = np.random.default_rng(seed), problem.grid
    if name not in SPECIAL:
        pattern, _, factor = name.partition("-")
        area = math.pi * np.max(np.linalg.norm(grid, axis=1)) ** 2
        density = DENSITIES[factor] * len(grid) / area
        pattern = {"uniform": "disc", "lattice": "lattice"}[pattern]
        return PointDesign(
            sample_pattern(pattern, NUM_POINTS[factor], density, random), 0, problem.contexts
        )
    half = grid[np.sort(random.permutation(len(grid))[: len(grid) // 2])]
    near, far = (half[i : i + 1] + 0.1 for i in random.permutation(len(half))[:2])
    if name == "cluster":
        density = CLUSTER / (math.pi * CLUSTER_RADIUS**2)
        cluster = near + sample_pattern("disc", CLUSTER, density, random)
        return PointDesign(np.concatenate([cluster, half]), 0, problem.contexts)
    observed = np.repeat(near, COINCIDENT, axis=0)
    if name == "coincident-context":
        return PointDesign(np.concatenate([observed, half]), COINCIDENT, 0)
    targets = [np.repeat(near, 10, axis=0), np.repeat(far, COINCIDENT, axis=0)]
    return PointDesign(np.concatenate([observed, *targets, half]), COINCIDENT, problem.contexts)


def design_tasks(
    design_points: PointDesign, problem: FieldProblem, num: int, seed: int = 1234
) -> Batch:
    """Fields of the process at the points of a design, their contexts marked."""
    gp_generator = problem._replace(grid=design_points.x).gp_generator("float32")
    field_key, mark_key = jr.split(jr.key(seed))
    y = gp_generator(white_noise(gp_generator, jr.split(field_key, num)))
    n, first = len(design_points.x), jnp.arange(len(design_points.x)) < design_points.fixed
    counts = jnp.full((num,), design_points.drawn, jnp.int32)
    others = (~first).astype(jnp.float32)
    marks = random_mask(counts, n, jnp.float32, key=mark_key, mask=others)
    marks = jnp.where(first[None], 1.0, marks)
    x = jnp.broadcast_to(gp_generator.grid[None], (num, n, 2))
    return Batch(x, y, jnp.ones_like(marks), marks)


def regret_at(
    model: Model, base: FieldProblem, name: str, *, num: int = 128, fields: int = 32, **options
) -> dict[str, Any]:
    """What `evaluate_tasks` gives on `num` fields, whose options these are; nothing for zero.

    `gaps` are score errors on `fields` fields, cheap; none for zero. Also how many points and
    neighbours the design has. The model gets capacity for all of these.
    """
    design_points = design(name, base)
    problem = base._replace(
        grid=design_points.x, contexts=design_points.fixed + design_points.drawn
    )
    enlarged = _enlarged(model, base, name)
    nets = graph_nets(model)
    counts = neighbour_counts(design_points.x, nets[0].config.radius) if nets else np.zeros(1)
    metrics: dict[str, Any] = {"points": len(design_points.x), "contexts": problem.contexts}
    metrics |= {"neighbours": float(np.mean(counts)), "most_neighbours": int(np.max(counts))}
    if fields:
        tasks = design_tasks(design_points, base, fields)
        score_errors = score_errors_of(
            enlarged, problem, tasks, batches=2, cells=max(fields // 4, 2)
        )
        metrics["gaps"] = {mode: score_errors[mode]["gap"] for mode in score_errors}
    if num:
        tasks = design_tasks(design_points, base, num)
        metrics |= evaluate_tasks(enlarged, problem, tasks, **options)
    return metrics


def _enlarged(model: Model, problem: FieldProblem, name: str) -> Model:
    """The model with capacity for all neighbours of a design.

    That of a lattice is the larger one of as many uniform points: one program serves both.
    """
    for each in (name, name.replace("lattice", "uniform")):
        model = with_capacity(model, design(each, problem).x.astype(np.float32))
    return model


def measure(
    name: str,
    model: Model,
    path: str | PathLike,
    *,
    problem: FieldProblem | None = None,
    designs: tuple[str, ...] = DESIGNS,
    **options,
) -> None:
    """Regret at every design, into a file of results; one that stands there is kept."""
    problem = problem_for(name) if problem is None else problem
    for design_name in designs:
        if results.lookup(results.read(path), "densities", name, design_name) is None:
            start = time.monotonic()
            row = regret_at(model, problem, design_name, **options)
            results.update(path, ("densities", name, design_name), row)
            cells = {mode: row.get("gaps", {}).get(mode) for mode in ("joint", "conditional")}
            cells = {"regret": row.get("regret")} | {
                f"score error, {mode}": v for mode, v in cells.items()
            }
            words = ", ".join(f"{what} {pair(value)}" for what, value in cells.items() if value)
            sizes = f"{row['points']} points, {row['neighbours']:.0f} neighbours"
            seconds = time.monotonic() - start
            print(f"{name} {design_name} ({sizes}): {words} ({seconds:.0f} s)", flush=True)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Regret at other densities of points.")
    parser.add_argument("models", nargs="+", help="shipped names, or paths of models")
    parser.add_argument("--out", required=True)
    parser.add_argument("--num", type=int, default=128, help="test fields of every design")
    parser.add_argument("--fields", type=int, default=32, help="fields of the score errors")
    parser.add_argument("--probes", type=int, default=8)
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--heun", action="store_true", help="Heun's method in the place of RK4")
    parser.add_argument(
        "--batch-size", type=int, default=32, help="fields side by side on a device"
    )
    parser.add_argument("--designs", nargs="+", default=DESIGNS, choices=DESIGNS)
    return parser.parse_args()


def main() -> None:
    """Measure every model."""
    options = arguments()
    solver = Heun() if options.heun else RK4()
    flow = Flow(solver, options.steps, divergence=Hutchinson(probes=options.probes))
    for path in options.models:
        sizes = {key: getattr(options, key) for key in ("num", "fields", "probes", "batch_size")}
        name, designs = _model_files.metadata(path)["experiment"], tuple(options.designs)
        measure(name, load(path), options.out, designs=designs, flow=flow, **sizes)


if __name__ == "__main__":
    main()
