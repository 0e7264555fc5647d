"""Steps of a run as calls of compiled programs: one call for many steps, or one for each."""

from __future__ import annotations

import equinox as eqx
import jax
import numpy as np

from geomndp.train.step import StepInfo, Trainer, TrainState, spread_batch, train_steps


def dispatch_steps(trainer: Trainer, state: TrainState, length: int) -> tuple[TrainState, StepInfo]:
    """Run several steps by one call, or by one call each where a compiled loop would be slow.

    Batches and keys depend on the number of the step alone, so that both give the same numbers to
    rounding. Of calls of one step, one program serves all lengths.

    Args:
        trainer: The fixed part of the run.
        state: State before the steps; its buffers are donated and cannot be used again.
        length: Number of steps, at least 1.

    Returns:
        State after the steps, and the diagnostics of each, arrays of shape (length,).
    """
    if trainer.loss.looped or trainer.mesh.devices.flat[0].platform != "cpu":
        return train_steps(trainer, state, length)
    infos = []
    for _ in range(length):
        state, info = train_one_step(trainer, state)
        infos.append(info)
    return state, jax.tree.map(lambda *values: np.stack(values), *infos)


@eqx.filter_jit(donate="all-except-first")
def train_one_step(trainer: Trainer, state: TrainState) -> tuple[TrainState, StepInfo]:
    """Run one step, in a program without a loop (XLA would see one in a scan of length 1 too).

    Args:
        trainer: The fixed part of the run.
        state: State before the step; its buffers are donated and cannot be used again.

    Returns:
        State after the step, and its diagnostics.
    """
    batch, key = trainer.draw(state.step, state.key)
    return trainer.step(state, (spread_batch(batch, trainer.mesh, axis=0), key))


__all__ = ["dispatch_steps", "train_one_step"]
