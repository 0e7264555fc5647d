"""A field model off its training grid: other densities, other sizes, scattered, moved.

The exact process is known at any locations, so that the regret is measured there as on the grid.
"""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _validation
from geomndp._types import Float
from geomndp.data import FieldProblem, disc
from geomndp.equivariance import random_transform
from geomndp.evaluate import summarise, whitened
from geomndp.experiments.vector_fields.evaluate import evaluate_on, field_score_errors
from geomndp.experiments.vector_fields.physics import SAMPLER
from geomndp.model import Model
from geomndp.nets import graph_nets, num_dropped_edges, with_capacity
from geomndp.samplers import AbstractSampler

UNSEEN = ("half", "finer", "coarser", "wider", "scattered", "moved")


def locations(name: str, problem: FieldProblem, seed: int = 0) -> Float[np.ndarray, "n d"]:
    """One set of locations off the grid, made from the grid of a problem.

    A random half of it; its spacing times 0.8 or 1.25, as many points; the same spacing on a disc
    a third wider; as many uniform points on the disc; the grid after a random rigid transform.
    """
    _validation.one_of("name", name, UNSEEN)
    grid, random = problem.grid, np.random.default_rng(seed)
    n, d = grid.shape
    width = float(np.max(np.linalg.norm(grid, axis=1)))
    if name == "half":
        return grid[np.sort(random.permutation(n)[: n // 2])]
    if name in ("finer", "coarser"):
        return grid * {"finer": 0.8, "coarser": 1.25}[name]
    if name == "wider":
        axis = np.unique(np.round(grid[:, 0], 9))
        side = round(4 * len(axis) / 3)
        return disc(side, (axis[1] - axis[0]) * (side - 1) / 2, d)
    if name == "scattered":
        direction = random.normal(size=(n, d))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        return width * random.uniform(size=(n, 1)) ** (1 / d) * direction
    motion = random_transform(d, key=jr.key(seed), reflect=True, scale=3 * width)
    return np.asarray(motion.act_on_inputs(jnp.asarray(grid, motion.matrix.dtype)), float)


def evaluate_unseen(
    model: Model,
    problem: FieldProblem,
    *,
    num: int = 128,
    fields: int = 64,
    probes: int = 8,
    names: tuple[str, ...] = UNSEEN,
    tasks: int = 8,
    samples: int = 16,
    sampler: AbstractSampler = SAMPLER,
    **options,
) -> dict[str, dict]:
    """What is measured at every set of locations.

    `gaps` are score errors on `fields` fields, cheap. `whitened` is the mean
    square of whitened posterior samples, mean and standard error over `tasks` fields: one for the
    exact posterior. With `num` fields, all that `evaluate_on` gives; further options are its own.
    """
    rows = {}
    for name in names:
        moved = problem._replace(grid=locations(name, problem))
        enlarged = with_capacity(model, np.asarray(moved.grid, np.float32))
        score_errors = field_score_errors(
            enlarged, moved, num=fields, batches=2, cells=max(fields // 4, 2)
        )
        spread = whitened_spread(enlarged, moved, tasks=tasks, samples=samples, sampler=sampler)
        rows[name] = {
            "points": len(moved.grid),
            "missed_neighbours": _num_dropped(enlarged, moved.grid),
            "gaps": {mode: score_errors[mode]["gap"] for mode in score_errors},
            "whitened": spread,
        }
        if num:
            rows[name] |= evaluate_on(enlarged, moved, num=num, probes=probes, **options)
    return rows


def whitened_spread(
    model: Model,
    problem: FieldProblem,
    *,
    tasks: int = 8,
    samples: int = 16,
    sampler: AbstractSampler = SAMPLER,
    seed: int = 4321,
) -> list[float]:
    """Mean square of whitened posterior samples given `contexts` points, a pair over fields."""
    _validation.at_least(2, tasks=tasks)
    fields, squares = problem.tasks(tasks, seed=seed, dtype="float32"), []
    # Not 0 or 1: folding these in is what splitting does, and the fields are made of those halves.
    draws = jr.fold_in(jr.key(seed), 2)
    for i, key in enumerate(jr.split(draws, tasks)):
        x, y, known = fields.x[i], fields.y[i], np.asarray(fields.context[i]) > 0
        posterior = model.condition(x[known], y[known])
        drawn = posterior.sample(x[~known], key=key, num_samples=samples, sampler=sampler)
        x, y, drawn = (np.asarray(value, float) for value in (x, y, drawn))
        squares.append(np.mean(whitened(problem.gp, x, y, known, drawn) ** 2))
    return list(summarise(jnp.asarray(np.array(squares, np.float32))))


def _num_dropped(model: Model, grid) -> int:
    """Pairs of neighbours beyond the capacity, over all networks of a model."""
    count = eqx.filter_jit(num_dropped_edges)
    return sum(int(count(net, jnp.asarray(grid, jnp.float32))) for net in graph_nets(model))
