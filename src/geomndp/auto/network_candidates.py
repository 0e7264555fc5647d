"""Networks as candidates: trained on some of the functions, timed, and measured like all others.

One compiled program trains a network on any of the functions for any number of steps: the held-out
functions stand last in its data and are never drawn, and the length of the schedule of learning
rates is a number in the optimiser's state.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from geomndp._types import PRNGKeyArray
from geomndp.auto import clock
from geomndp.auto.cosine_adam import with_length
from geomndp.auto.early_stopping import CHUNK
from geomndp.auto.held_out import BATCH_SIZE, HeldOut, full_batches, target_log_likelihood
from geomndp.auto.plan import TrainingPlan
from geomndp.auto.units import tasks_in_units
from geomndp.auto.validation import ValidationTasks
from geomndp.data import AbstractGenerator, FixedInputsGenerator, Normaliser, ResampledGenerator
from geomndp.gp import AbstractGP
from geomndp.model import Model
from geomndp.score import NetworkScore
from geomndp.train.loop import init_interleaved
from geomndp.train.step import Trainer, TrainState, train_steps

EMA_DECAY = 0.99


class NetworkCandidate(NamedTuple):
    """A network to train on functions of a plan.

    Attributes:
        name: Its name in the report.
        plan: Untrained model, training functions in its units, loss and learning rate.
        optimiser: Made once: programs compiled with it serve again.
        base: The process that it corrects, if any, with plain numbers as parameters.
    """

    name: str
    plan: TrainingPlan
    optimiser: optax.GradientTransformation
    base: AbstractGP | None = None

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
        """The model with a trained score, which knows contexts, in the data's units."""
        score = dataclasses.replace(self._conditional(score), base=self.base)
        return dataclasses.replace(self.plan.model, score=score)

    def _conditional(self, score: NetworkScore) -> NetworkScore:
        return dataclasses.replace(score, conditional=self.plan.data.conditional)

    @property
    def units(self) -> Normaliser:
        """Units of the model."""
        return self.plan.model.normaliser or Normaliser()

    def in_own_units(self, score: NetworkScore) -> Model:
        """The model with a score, for values in its own units."""
        score = self._conditional(score)
        return dataclasses.replace(self.plan.model, score=score, normaliser=None, variables=None)


class NetworkValidation:
    """Log-densities of validation tasks under a network, by few solver steps and common probes.

    A network that corrects a process starts as that process, whose log-densities are known: what
    solver and probes miss there is added everywhere, and its start is measured exactly.
    """

    def __init__(
        self,
        candidate: NetworkCandidate,
        tasks: ValidationTasks,
        key: PRNGKeyArray,
        exact: HeldOut | None = None,
    ):
        """Convert the tasks to the network's units.

        Args:
            candidate: The network.
            tasks: Tasks in the data's units.
            key: Random key of the probes, the same at every call.
            exact: Log-densities of the tasks under the process that it corrects.
        """
        self.candidate, self.tasks, self.key = candidate, tasks, key
        self._own, *self._log_jacobians = tasks_in_units(tasks, candidate.units)
        self._missed = HeldOut(*np.zeros((2, len(tasks.function))))
        if exact is not None:
            solved = self.held_out(candidate.score)
            missed = (own - other for own, other in zip(exact, solved, strict=True))
            self._missed = HeldOut(*(np.where(np.isfinite(m), m, 0.0) for m in missed))

    def held_out(self, score: NetworkScore) -> HeldOut:
        """Log-densities of targets and contexts under a score."""
        contexts = self._nats(score, self._own.contexts()) + self._log_jacobians[1]
        return HeldOut(self._targets(score), contexts + self._missed.context)

    def __call__(self, score: NetworkScore) -> np.ndarray:
        """Nats per target value of every task under a score; shape (tasks,)."""
        return self._targets(score) / self.tasks.num_values()

    def _targets(self, score: NetworkScore) -> np.ndarray:
        nats = self._nats(score, self._own) + self._log_jacobians[0]
        return nats + self._missed.targets

    def _nats(self, score: NetworkScore, tasks: ValidationTasks) -> np.ndarray:
        return target_log_likelihood(self.candidate.in_own_units(score), tasks, key=self.key)

    def mean(self, values: np.ndarray) -> float:
        """Mean over kinds and functions."""
        return float(self.tasks.by_function(values).mean())


class NetworkTiming(NamedTuple):
    """Seconds on this machine.

    Attributes:
        step: Seconds per training step.
        validation: Seconds per validation.
        compilation: Seconds of the compilation of both programs.
    """

    step: float
    validation: float
    compilation: float = 0.0


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
    moments = [clock.now()]
    for _ in range(2):
        state, _ = jax.block_until_ready(train_steps(trainer, state, CHUNK))
        moments.append(clock.now())
    count = len(tasks.function)
    few = tasks.take(full_batches(count, BATCH_SIZE)[0])  # one batch tells of all
    score, validation = trainer.score(state.ema_params), NetworkValidation(candidate, few, key)
    for _ in range(2):
        validation(score)
        moments.append(clock.now())
    first, second, third, fourth = np.diff(moments)
    whole = fourth * -(-count // BATCH_SIZE)
    return NetworkTiming(second / CHUNK, whole, max(0.0, first - second + third - fourth))


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
