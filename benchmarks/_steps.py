"""Time of a training step, data and optimiser included, after compilation."""

import time

import jax
import jax.random as jr

from geomndp import train


def milliseconds(score, noising, generator, loss, optimiser, steps: int) -> float:
    """Mean over `steps` steps that went to the device at once."""
    trainer, state = train.init(score, noising, generator, loss, optimiser, key=jr.key(1))
    state, losses = train.train_steps(trainer, state, steps)
    jax.block_until_ready(losses)
    start = time.perf_counter()
    state, losses = train.train_steps(trainer, state, steps)
    jax.block_until_ready(losses)
    return 1e3 * (time.perf_counter() - start) / steps
