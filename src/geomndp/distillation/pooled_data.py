"""Sources of training functions, with the teacher's flow solved beforehand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.random as jr

from geomndp import _validation
from geomndp._types import PRNGKeyArray
from geomndp.data import AbstractGenerator
from geomndp.distillation.trajectory_loss import TrajectoryLoss
from geomndp.distillation.trajectory_pool import solved_batch, trajectory_pool
from geomndp.noising import AbstractNoising

STEPS_PER_BATCH, FEWEST, MOST_BYTES = 100, 8, 2**30
"""Steps that a solved batch serves, fewest batches of a generator, and room for all of them."""


def pooled(
    loss: Any,
    noising: AbstractNoising,
    generators: Sequence[AbstractGenerator],
    steps: int,
    num_solved: int | None,
    *,
    key: PRNGKeyArray,
) -> tuple[AbstractGenerator, ...]:
    """Generators with solved batches in their place.

    Args:
        loss: Loss of the training; without trajectories the generators stay as they are.
        noising: Forward process.
        generators: Sources of functions; one that is listed twice has one pool.
        steps: Steps of the training.
        num_solved: Number of solved batches, 0 for none; None for the default of `distil`.
        key: Random key of the run.
    """
    if num_solved is not None:
        _validation.at_least(0, num_solved=num_solved)
    if not isinstance(loss, TrajectoryLoss) or num_solved == 0:
        return tuple(generators)
    shares = Counter(map(id, generators))
    pools = {}
    for number, generator in enumerate(generators):
        if id(generator) not in pools:
            share = shares[id(generator)] / len(generators)
            pools[id(generator)] = trajectory_pool(
                loss,
                noising,
                generator,
                _count(loss, noising, generator, steps, share, num_solved),
                key=jr.fold_in(key, number),
            )
    return tuple(pools[id(generator)] for generator in generators)


def _count(loss, noising, generator, steps: int, share: float, num_solved: int | None) -> int:
    """Batches of one generator, which has a share of the steps."""
    if num_solved is not None:
        return max(round(share * num_solved), 1)
    key = jr.key(0)
    shapes = eqx.filter_eval_shape(solved_batch, loss, noising, generator, key)
    leaves = jax.tree.leaves(shapes)
    size = sum(leaf.size * leaf.dtype.itemsize for leaf in leaves if hasattr(leaf, "dtype"))
    wanted = min(max(round(share * steps / STEPS_PER_BATCH), FEWEST), steps)
    return max(min(wanted, int(share * MOST_BYTES / max(size, 1))), 1)
