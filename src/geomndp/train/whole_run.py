"""A run from its start, or its last checkpoint, to its end: folder, lock, log, settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from os import PathLike
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax

from geomndp import _validation
from geomndp._training_log import History, Log
from geomndp._types import PRNGKeyArray
from geomndp.data import AbstractGenerator
from geomndp.noising import AbstractNoising
from geomndp.train.abstract_loss import AbstractLoss
from geomndp.train.checkpoint import Checkpoints
from geomndp.train.fingerprint import describe_array, fingerprint
from geomndp.train.lock import hold
from geomndp.train.loop import STEPS_PER_GENERATOR, init_interleaved, run
from geomndp.train.step import Trainer, TrainState, divisor


def train_from_start(
    score: Any,
    noising: AbstractNoising | None,
    generators: Sequence[AbstractGenerator],
    loss: AbstractLoss,
    optimiser: optax.GradientTransformation,
    *,
    steps: int,
    key: PRNGKeyArray,
    ema_decay: float = 0.999,
    chunk: int | None = None,
    directory: str | PathLike[str] | None = None,
    checkpoint_every: int | None = 2000,
    keep: int = 3,
    devices: Any = None,
    quiet: bool = False,
    model_settings: Any = None,
) -> tuple[tuple[Trainer, ...], TrainState, History]:
    """Train a score, or another law of functions; a folder that holds the run is resumed.

    Args:
        score: Score, or another module, with the initial parameters.
        noising: Forward process of a score; None for what has none.
        generators: Sources of training batches, interleaved.
        loss: Loss of a batch.
        optimiser: An optax transformation of gradients.
        steps: Number of steps.
        key: Random key of all batches and of the loss.
        ema_decay: Decay of the exponential moving average of the parameters.
        chunk: Steps per call of the compiled program; by default about 100 (on CPU 10).
        directory: Folder for log and checkpoints; by default nothing is written.
        checkpoint_every: Steps between checkpoints; None writes the log only.
        keep: Number of checkpoints to keep.
        devices: Devices over which the batch is spread, by default all of all processes.
        quiet: Whether to show no progress bar.
        model_settings: Further settings that a resumed run must have in common.

    Returns:
        One trainer per generator, the state at the end, and the history of losses.

    Raises:
        TrainingDiverged: If a loss or gradient is not finite.
        CheckpointError: If the folder holds a run with other data, settings or initial parameters.
        FolderInUse: If another process trains in the folder.
    """
    _validation.at_least(1, steps=steps)
    if checkpoint_every is not None:
        _validation.at_least(1, checkpoint_every=checkpoint_every)
    folder = None if directory is None else Path(directory)
    with _held(folder):
        options = {"key": key, "ema_decay": ema_decay, "devices": devices}
        trainers, state = init_interleaved(score, noising, generators, loss, optimiser, **options)
        settings = {} if folder is None else _settings(trainers, state, steps, model_settings)
        with _records(folder, checkpoint_every, keep, settings, state) as (state, log, checkpoints):
            state, history = run(
                trainers,
                state,
                steps=steps,
                chunk=_chunk(steps, len(trainers)) if chunk is None else chunk,
                log=log,
                checkpoints=checkpoints,
                checkpoint_every=checkpoint_every or steps,
                quiet=quiet or jax.process_index() > 0,
            )
    return trainers, state, history


def averaged(trainers: Sequence[Trainer], state: TrainState) -> Any:
    """What was trained, with averaged parameters.

    Args:
        trainers: One trainer per generator; scores of others differ in their capacity alone.
        state: State at the end of a run.
    """
    return trainers[0].score(jnp.asarray(np.asarray(state.ema_params)))


def _held(folder: Path | None) -> AbstractContextManager[None]:
    """Lock of the folder; of several processes of one run the first one holds it."""
    return nullcontext() if folder is None or jax.process_index() > 0 else hold(folder)


@contextmanager
def _records(
    folder: Path | None, every: int | None, keep: int, settings: dict, state: TrainState
) -> Iterator[tuple[TrainState, Log, Checkpoints | None]]:
    """Open log and checkpoints of a folder, and the state to resume; close them after."""
    path, checkpoints = None, None
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "log.csv"
        if every is not None:
            checkpoints = Checkpoints(folder / "checkpoints", settings, keep=keep)
            state = checkpoints.restore(state) or state
        elif (folder / "checkpoints").exists():
            raise ValueError(f"expected a folder without checkpoints, got {folder}")
    log = Log(path, upto=int(state.step), write=jax.process_index() == 0)
    try:
        yield state, log, checkpoints
    finally:
        log.close()
        if checkpoints is not None:
            checkpoints.close()


def _chunk(steps: int, num_generators: int) -> int:
    """About 100 steps (on CPU 10), a divisor of `steps` if there is one: then one compilation."""
    if num_generators > 1:
        return STEPS_PER_GENERATOR
    most = 10 if jax.default_backend() == "cpu" else 100
    fitting = divisor(steps, most)
    return fitting if fitting > most // 4 else most


def _settings(
    trainers: Sequence[Trainer], state: TrainState, steps: int, model_settings: Any
) -> dict:
    """What must be the same for a run to be resumed; `state` is that of its start."""
    trainer, generators = trainers[0], [trainer.generator for trainer in trainers]
    return {
        "steps": steps,
        "key": np.asarray(jr.key_data(state.key)).tolist(),
        "ema_decay": trainer.ema_decay,
        "initial parameters": describe_array(state.params),
        "network": fingerprint(trainer.static_score),
        "noising": fingerprint(trainer.noising),
        "data": fingerprint(generators if len(generators) > 1 else trainer.generator),
        "loss": fingerprint(trainer.loss),
        "optimiser": fingerprint(trainer.optimiser),
        "model": fingerprint(model_settings),
    }
