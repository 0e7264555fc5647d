"""Networks as candidates: trained on some of the functions, timed, and measured like all others.

One compiled program trains a network on any of the functions for any number of steps: the held-out
functions stand last in its data and are never drawn, and the length of the schedule of learning
rates is a number in the optimiser's state.
"""

from __future__ import annotations

import dataclasses
import time
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from geomndp._types import Array, PRNGKeyArray
from geomndp.auto.early_stopping import CHUNK
from geomndp.auto.held_out import target_log_likelihood
from geomndp.auto.plan import TrainingPlan
from geomndp.auto.validation import ValidationTasks
from geomndp.data import AbstractGenerator, FixedInputsGenerator, ResampledGenerator
from geomndp.model import Model
from geomndp.score import NetworkScore
from geomndp.train.loop import init_interleaved
from geomndp.train.step import Trainer, TrainState, train_steps

EMA_DECAY = 0.99
START_RATE, END_RATE, WARMUP = 1e-4, 1e-5, 1 / 30


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
    return optax.chain(optax.clip_by_global_norm(1.0), optax.scale_by_adam(), schedule)


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


class NetworkCandidate(NamedTuple):
    """A network to train on functions of a plan.

    Attributes:
        name: Its name in the report.
        plan: Untrained model, training functions in its units, loss and learning rate.
        optimiser: Made once: programs compiled with it serve again.
    """

    name: str
    plan: TrainingPlan
    optimiser: optax.GradientTransformation

    def start(
        self, rows: np.ndarray, *, steps: int, key: PRNGKeyArray
    ) -> tuple[Trainer, TrainState]:
        """Begin a training on some of the functions.

        Args:
            rows: The functions to train on.
            steps: Length of the schedule of learning rates.
            key: Random key of the run.

        Returns:
            Trainer and initial state.
        """
        plan = self.plan
        (trainer,), state = init_interleaved(
            self.score,
            plan.model.noising,
            [on_rows(plan.data, rows)],
            plan.loss,
            self.optimiser,
            key=key,
            ema_decay=EMA_DECAY,
        )
        return trainer, with_length(state, steps)

    @property
    def score(self) -> NetworkScore:
        """The untrained score."""
        assert isinstance(self.plan.model.score, NetworkScore)
        return self.plan.model.score

    def model(self, score: NetworkScore) -> Model:
        """The model with a trained score, which knows contexts."""
        score = dataclasses.replace(score, conditional=self.plan.data.conditional)
        return dataclasses.replace(self.plan.model, score=score)

    def validate(
        self, score: NetworkScore, tasks: ValidationTasks, *, key: PRNGKeyArray
    ) -> np.ndarray:
        """Nats per target value of every task under the model with a score."""
        return target_log_likelihood(self.model(score), tasks, key=key) / tasks.num_values()


class NetworkTiming(NamedTuple):
    """Seconds on this machine, compilation excluded.

    Attributes:
        step: Seconds per training step.
        validation: Seconds per validation.
    """

    step: float
    validation: float


def time_network(
    candidate: NetworkCandidate, rows: np.ndarray, tasks: ValidationTasks, *, key: PRNGKeyArray
) -> NetworkTiming:
    """Compile the programs of a candidate and time them.

    Args:
        candidate: The network.
        rows: Functions to train on.
        tasks: Validation tasks.
        key: Random key.

    Returns:
        Seconds per step and per validation.
    """
    trainer, state = candidate.start(rows, steps=1000, key=key)
    state, _ = jax.block_until_ready(train_steps(trainer, state, CHUNK))
    begin = time.monotonic()
    state, _ = jax.block_until_ready(train_steps(trainer, state, CHUNK))
    step = (time.monotonic() - begin) / CHUNK
    score = trainer.score(state.ema_params)
    candidate.validate(score, tasks, key=key)
    begin = time.monotonic()
    candidate.validate(score, tasks, key=key)
    return NetworkTiming(step, time.monotonic() - begin)


def on_rows(generator: AbstractGenerator, rows: np.ndarray) -> AbstractGenerator:
    """The generator that draws some of its functions only, of the same shapes.

    Args:
        generator: A generator of functions of a data set.
        rows: Which functions.

    Returns:
        A generator of the same type, its functions in another order.

    Raises:
        ValueError: If the generator has no data set.
    """
    count = jnp.asarray(len(rows), jnp.int32)
    if isinstance(generator, ResampledGenerator):
        order = _first(rows, len(generator.functions.x))
        functions = jax.tree.map(lambda values: values[order], generator.functions)
        return dataclasses.replace(generator, functions=functions, num_functions=count)
    if isinstance(generator, FixedInputsGenerator):
        order = _first(rows, len(generator.y))
        return dataclasses.replace(generator, y=generator.y[order], num_functions=count)
    raise ValueError(f"expected functions of a data set, got {type(generator).__name__}")


def _first(rows: np.ndarray, count: int) -> np.ndarray:
    return np.concatenate([rows, np.setdiff1d(np.arange(count), rows)])
