"""Adam whose schedule has its length as a number in the state: one program for all lengths."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from geomndp._types import Array
from geomndp.train.fit import CLIP, END_RATE, START_RATE, WARMUP
from geomndp.train.step import TrainState


class CosineState(NamedTuple):
    """Steps done, and the length of the schedule in steps."""

    step: Array
    total: Array


def cosine_adam(peak: float) -> optax.GradientTransformation:
    """Adam with warm-up and cosine decay like `train.adam`, its length a part of the state.

    Args:
        peak: Highest learning rate.

    Returns:
        An optax optimiser; `with_length` sets the length of a new state.
    """

    def init(params: Any) -> CosineState:
        return CosineState(jnp.zeros((), jnp.int32), jnp.ones((), jnp.float32))

    def update(updates: Any, state: CosineState, params: Any = None):
        share = state.step.astype(jnp.float32) / state.total
        rising = START_RATE + (peak - START_RATE) * share / WARMUP
        angle = jnp.pi * jnp.clip((share - WARMUP) / (1 - WARMUP), 0.0, 1.0)
        falling = END_RATE + 0.5 * (peak - END_RATE) * (1 + jnp.cos(angle))
        rate = jnp.where(share < WARMUP, rising, falling)
        scaled = jax.tree.map(lambda leaf: -rate.astype(leaf.dtype) * leaf, updates)
        return scaled, CosineState(state.step + 1, state.total)

    schedule = optax.GradientTransformation(init, update)  # pyright: ignore[reportArgumentType]
    return optax.chain(optax.clip_by_global_norm(CLIP), optax.scale_by_adam(), schedule)


def with_length(state: TrainState, steps: int) -> TrainState:
    """Set the length of the schedule of learning rates.

    Args:
        state: A state whose optimiser is `cosine_adam`.
        steps: Length in steps.

    Returns:
        The state with that length.
    """
    *others, schedule = state.optimiser
    total = jnp.full_like(schedule.total, steps)
    optimiser = (*others, CosineState(schedule.step, total))
    return dataclasses.replace(state, optimiser=optimiser)


def restarted(state: TrainState, params: np.ndarray, step: int) -> TrainState:
    """Go on from given parameters as at a late step: low learning rates, new moments.

    Args:
        state: An initial state whose optimiser is `cosine_adam`, with the length of its schedule.
        params: The parameters, which are their average too.
        step: The step.

    Returns:
        The state.
    """
    *others, schedule = state.optimiser
    optimiser = (*others, CosineState(jnp.full_like(schedule.step, step), schedule.total))
    values, place = np.asarray(params, state.params.dtype), state.params.sharding
    # On the same devices: no other program. Twice: buffers are donated.
    first, second = (jax.device_put(values.copy(), place) for _ in range(2))
    return TrainState(first, second, optimiser, jnp.full_like(state.step, step), state.key)
