"""Train a network score from start to end: the one function that other layers call."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax

from geomndp import _checks
from geomndp._types import PRNGKeyArray
from geomndp.data import AbstractStream
from geomndp.noising import AbstractNoising
from geomndp.score import NetworkScore
from geomndp.train.checkpoint import Checkpoints
from geomndp.train.log import History, Log
from geomndp.train.loop import run
from geomndp.train.loss import DenoisingLoss
from geomndp.train.optimiser import adam
from geomndp.train.step import Trainer, TrainState, divisor, init


def fit_score(
    score: NetworkScore,
    noising: AbstractNoising,
    stream: AbstractStream,
    *,
    steps: int,
    key: PRNGKeyArray,
    eps: float | None = None,
    loss: DenoisingLoss | None = None,
    optimiser: optax.GradientTransformation | None = None,
    decay: float = 0.999,
    chunk: int | None = None,
    directory: str | PathLike[str] | None = None,
    checkpoint_every: int | None = 2000,
    keep: int = 3,
    devices=None,
    quiet: bool = False,
) -> tuple[NetworkScore, History]:
    """Train for `steps` steps; return the score with averaged parameters, and the history.

    With a `directory` the run writes `log.csv` and `checkpoints/` there (`checkpoint_every=None`:
    the log only), and the same call goes on where an earlier one was stopped, to the same bits.
    The batch is spread over `devices` (all visible ones by default, of all processes). `chunk`
    steps go to the device at once. `eps` replaces the loss's smallest time.
    """
    _checks.at_least(1, steps=steps)
    if checkpoint_every is not None:
        _checks.at_least(1, checkpoint_every=checkpoint_every)
    loss = DenoisingLoss() if loss is None else loss
    loss = loss if eps is None else dataclasses.replace(loss, eps=eps)
    optimiser = adam(steps) if optimiser is None else optimiser
    trainer, state = init(
        score, noising, stream, loss, optimiser, key=key, decay=decay, devices=devices
    )
    every = checkpoint_every if directory is not None else None
    with _records(directory, every, keep, trainer, state, steps) as (state, log, checkpoints):
        state, history = run(
            trainer,
            state,
            steps=steps,
            chunk=_chunk(steps) if chunk is None else chunk,
            log=log,
            checkpoints=checkpoints,
            checkpoint_every=every or steps,
            quiet=quiet or jax.process_index() > 0,
        )
    trained = trainer.score(jnp.asarray(np.asarray(state.average)))
    return dataclasses.replace(trained, conditional=stream.conditional), history


@contextmanager
def _records(
    directory, every: int | None, keep: int, trainer: Trainer, state: TrainState, steps: int
) -> Iterator[tuple[TrainState, Log, Checkpoints | None]]:
    """Open log and checkpoints of a directory, and the state to go on from; close them after."""
    path, checkpoints = None, None
    if directory is not None:
        folder = Path(directory)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "log.csv"
        if every is not None:
            settings = _settings(trainer, state, steps)
            checkpoints = Checkpoints(folder / "checkpoints", settings, keep=keep)
            state = checkpoints.restore(state) or state
    log = Log(path, upto=int(state.step), write=jax.process_index() == 0)
    try:
        yield state, log, checkpoints
    finally:
        log.close()
        if checkpoints is not None:
            checkpoints.close()


def _chunk(steps: int) -> int:
    """About 100 steps (on CPU 10), a divisor of `steps` if there is one: then one compilation."""
    most = 10 if jax.default_backend() == "cpu" else 100
    fitting = divisor(steps, most)
    return fitting if fitting > most // 4 else most


def _settings(trainer: Trainer, state: TrainState, steps: int) -> dict:
    """What must be the same for a run to go on."""
    return {
        "steps": steps,
        "key": np.asarray(jr.key_data(state.key)).tolist(),
        "parameters": f"{state.params.size} {state.params.dtype}",
        "optimiser": len(jax.tree.leaves(state.optimiser)),
        "decay": trainer.decay,
        **{
            name: " ".join(str(getattr(trainer, name)).split())
            for name in ("skeleton", "noising", "stream", "loss")
        },
    }
