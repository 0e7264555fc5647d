"""The training loop over one generator or several: progress, log, checkpoints, errors."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree

from geomndp import _validation
from geomndp._training_log import History, Log, progress
from geomndp._types import PRNGKeyArray
from geomndp.data import AbstractGenerator
from geomndp.data.generators import batch_mesh
from geomndp.nets import with_common_capacity
from geomndp.noising import AbstractNoising
from geomndp.score import NetworkScore
from geomndp.train.abstract_loss import AbstractLoss
from geomndp.train.checkpoint import Checkpoints
from geomndp.train.step import StepInfo, Trainer, TrainState, dispatch_steps, replicate

STEPS_PER_GENERATOR = 10  # before the next one's: what the device is given at once


class TrainingDiverged(RuntimeError):
    """A loss or a gradient that is not finite.

    Attributes:
        step: First step with such a loss or gradient.
        time: Diffusion time of its largest loss, NaN where there is none.
    """

    def __init__(self, step: int, info: StepInfo, saved: str):
        """Describe the first bad step.

        Args:
            step: Its number.
            info: Its diagnostics.
            saved: A sentence on where the last good state is.
        """
        self.step, self.time = step, float(info.time)
        where = f", largest loss at diffusion time {self.time:.6g}"
        super().__init__(
            f"training diverged at step {step}: loss {float(info.loss)}, gradient norm "
            f"{float(info.gradient_norm)}{'' if math.isnan(self.time) else where}; {saved}"
        )


def init(
    score: Any,
    noising: AbstractNoising | None,
    generator: AbstractGenerator,
    loss: AbstractLoss,
    optimiser: optax.GradientTransformation,
    *,
    key: PRNGKeyArray,
    ema_decay: float = 0.999,
    devices=None,
) -> tuple[Trainer, TrainState]:
    """Start a run: split the score into parameters and the rest, on all devices.

    Args:
        score: Score, or another law of functions, with the initial parameters, which are copied.
        noising: Forward process of a score; None for what has none.
        generator: Source of training batches.
        loss: Loss of a batch.
        optimiser: An optax transformation of gradients.
        key: Random key of the run.
        ema_decay: Decay of the moving average of the parameters, 0 <= ema_decay < 1.
        devices: Devices over which the batch is spread, by default all of all processes.

    Returns:
        Trainer and initial state.

    Raises:
        ValueError: If the score has no parameters, the decay is out of range or the batch cannot be
            divided by the number of devices.
    """
    mesh = batch_mesh(generator.batch_size, devices)
    if not 0 <= ema_decay < 1:
        raise ValueError(f"expected 0 <= ema_decay < 1, got {ema_decay}")
    trainable = score.trainable if isinstance(score, NetworkScore) else eqx.is_inexact_array
    tree, static_score = eqx.partition(score, trainable)
    params, unravel = ravel_pytree(tree)
    if not params.size:
        raise ValueError("expected a score with parameters, got none")
    trainer = Trainer(static_score, noising, generator, loss, optimiser, ema_decay, unravel, mesh)
    state = TrainState(params, params, optimiser.init(params), jnp.zeros((), jnp.int32), key)
    return replicate(trainer, mesh), replicate(state, mesh)


def init_interleaved(
    score: Any,
    noising: AbstractNoising | None,
    generators: Sequence[AbstractGenerator],
    loss: AbstractLoss,
    optimiser: optax.GradientTransformation,
    **options,
) -> tuple[tuple[Trainer, ...], TrainState]:
    """Start a run with several generators.

    A generator that is listed several times has one trainer, hence one compiled program.

    Args:
        score: Score, or another law of functions, with the initial parameters.
        noising: Forward process of a score; None for what has none.
        generators: Sources of training batches, in the order of their stretches of steps.
        loss: Loss of a batch.
        optimiser: An optax transformation of gradients.
        **options: Those of `init`: `key`, `ema_decay`, `devices`.

    Returns:
        One trainer per generator, and their common initial state.

    Raises:
        ValueError: If there is no generator.
    """
    if not generators:
        raise ValueError("expected a generator of functions to train on, got none")
    by_generator: dict[int, tuple[Trainer, TrainState]] = {}
    for generator in generators:
        if id(generator) not in by_generator:
            parts: tuple[Any, Any] = score, loss
            if (locations := generator.locations) is not None:
                parts = tuple(with_common_capacity(part, locations) for part in parts)
            arguments = (parts[0], noising, generator, parts[1], optimiser)
            by_generator[id(generator)] = init(*arguments, **options)
    trainers = tuple(by_generator[id(generator)][0] for generator in generators)
    return trainers, by_generator[id(generators[0])][1]


def trainer_at(trainers: Sequence[Trainer], step: int) -> Trainer:
    """Trainer of the next step.

    Args:
        trainers: One trainer per generator.
        step: Steps done.

    Returns:
        The trainer of step number `step` + 1.
    """
    return trainers[step // STEPS_PER_GENERATOR % len(trainers)]


def run(
    trainers: Trainer | Sequence[Trainer],
    state: TrainState,
    *,
    steps: int,
    chunk: int,
    log: Log,
    checkpoints: Checkpoints | None = None,
    checkpoint_every: int = 2000,
    quiet: bool = False,
) -> tuple[TrainState, History]:
    """Train from the given state until `steps` steps are done.

    One program is compiled, and a second one for a last stretch shorter than `chunk`; of several
    interleaved trainers (see `init_interleaved`), one each.

    Args:
        trainers: The fixed part of the run, of one generator or of several.
        state: Initial state, or that of a checkpoint; its buffers are donated.
        steps: Number of steps of the run, those that are done included.
        chunk: Steps per row of the log, and per call of the compiled program where it is a loop.
        log: Where means over chunks are written.
        checkpoints: Where states are saved; None for nowhere.
        checkpoint_every: Steps between checkpoints; the last state is always saved.
        quiet: Whether to show no progress bar.

    Returns:
        The state at the end, and the history of the whole run.

    Raises:
        TrainingDiverged: If a loss or gradient is not finite.
        OSError: If log or checkpoint cannot be written; says which checkpoint is the last.
        ValueError: If the stretch of a generator is not a multiple of `chunk`.
    """
    _validation.at_least(1, chunk=chunk, checkpoint_every=checkpoint_every)
    trainers = (trainers,) if isinstance(trainers, Trainer) else trainers
    if len(trainers) > 1 and STEPS_PER_GENERATOR % chunk:
        raise ValueError(
            f"expected a chunk that divides {STEPS_PER_GENERATOR} steps per generator, got {chunk}"
        )
    done, spent, start = int(state.step), log.seconds, time.monotonic()
    try:
        with progress(steps, done, quiet=quiet) as update:
            while done < steps:
                length = min(chunk, steps - done)
                state, info = dispatch_steps(trainer_at(trainers, done), state, length)
                _refuse_infinite(done, info, checkpoints)
                before, done = done, done + length
                seconds = spent + time.monotonic() - start
                loss, norm = (np.mean(values).item() for values in (info.loss, info.gradient_norm))
                log.append(done, loss, norm, seconds)
                update(done, loss)
                passed = done // checkpoint_every > before // checkpoint_every
                if checkpoints is not None and (passed or done == steps):
                    checkpoints.save(state)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"stopped after step {done}; {_saved(checkpoints)}") from None
    except OSError as error:
        raise OSError(f"{error}; {_saved(checkpoints)}") from error
    return state, log.history()


def _refuse_infinite(done: int, info: StepInfo, checkpoints: Checkpoints | None) -> None:
    finite = np.isfinite(np.asarray(info.loss)) & np.isfinite(np.asarray(info.gradient_norm))
    if not finite.all():
        first = int(np.argmin(finite))
        bad = StepInfo(*(values[first] for values in info))
        raise TrainingDiverged(done + first + 1, bad, _saved(checkpoints))


def _saved(checkpoints: Checkpoints | None) -> str:
    if checkpoints is None:
        return "nothing was saved (give a directory to keep checkpoints)"
    if checkpoints.latest is None:
        return f"no checkpoint was written yet in {checkpoints.directory}"
    where = f"step {checkpoints.latest} in {checkpoints.directory}"
    return f"the last good checkpoint is {where}: re-running the call resumes there"
