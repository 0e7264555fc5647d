"""Solved functions that are kept and used again: a student's steps cost no teacher's calls then."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.random as jr

from geomndp import _validation
from geomndp._types import Array, Float, PRNGKeyArray
from geomndp.data import AbstractGenerator, Batching
from geomndp.data.context_sampling import ContextSampler
from geomndp.distillation.solved_functions import SolvedFunctions
from geomndp.distillation.trajectory_loss import TrajectoryLoss
from geomndp.nets import with_common_capacity
from geomndp.noising import AbstractNoising
from geomndp.train.fingerprint import FROM_OTHERS


class TrajectoryPool(AbstractGenerator):
    """Batches of solved functions, drawn with replacement; `trajectory_pool` makes it.

    The pairs of times are drawn anew whenever a batch is used, so that a trajectory serves many
    steps before its student sees anything twice.

    Attributes:
        solved: Solved batches, stacked along the first axis of every leaf.
        num_batches: Number of solved batches.
        key: Random key of functions and noise.
        generator: Source of the functions.
        batch_size: Rows per batch.
        contexts: Those of the functions.
    """

    solved: SolvedFunctions = eqx.field(metadata={FROM_OTHERS: True})
    num_batches: int = eqx.field(static=True)
    key: PRNGKeyArray
    generator: AbstractGenerator
    batch_size: int = eqx.field(static=True)
    contexts: ContextSampler | None

    @property
    def batching(self) -> Batching:
        """That of the functions."""
        return self.generator.batching

    @property
    def locations(self) -> Float[Array, "sets n d"] | None:
        """Those of the functions."""
        return self.generator.locations

    def draw(self, key):
        """One of the solved batches."""
        index = jr.randint(key, (), 0, len(self.solved.x))
        return jax.tree.map(lambda values: values[index], self.solved)


def trajectory_pool(
    loss: TrajectoryLoss,
    noising: AbstractNoising,
    generator: AbstractGenerator,
    num_batches: int,
    *,
    key: PRNGKeyArray,
) -> TrajectoryPool:
    """Solve the teacher's flow of functions of a generator.

    Args:
        loss: The loss that will use them, with the teacher.
        noising: Forward process.
        generator: Source of the functions.
        num_batches: Number of batches.
        key: Random key of functions and noise.

    Returns:
        The pool, a generator for `loss` alone.
    """
    _validation.at_least(1, num_batches=num_batches)
    loss = with_common_capacity(loss, generator.locations)
    solved = _solve(loss, noising, generator, jr.split(key, num_batches))
    of_source = {"batch_size": solved.x.shape[1], "contexts": generator.contexts}
    of_source |= {"num_batches": num_batches, "key": key, "generator": generator}
    return TrajectoryPool(solved=solved, **of_source)


def solved_batch(
    loss: TrajectoryLoss, noising: AbstractNoising, generator: AbstractGenerator, key: PRNGKeyArray
) -> SolvedFunctions:
    """One batch of a pool.

    Args:
        loss: The loss that will use it, with the teacher.
        noising: Forward process.
        generator: Source of the functions.
        key: Random key of functions and noise.
    """
    data_key, noise_key = jr.split(key)
    batching = generator.batching
    return loss.solve(noising, generator.draw(data_key), key=noise_key, batching=batching)


@eqx.filter_jit
def _solve(
    loss: TrajectoryLoss, noising: AbstractNoising, generator: AbstractGenerator, keys: Array
) -> SolvedFunctions:
    return jax.lax.map(lambda key: solved_batch(loss, noising, generator, key), keys)
