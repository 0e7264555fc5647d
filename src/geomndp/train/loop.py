"""The loop around the steps: progress, log, checkpoints, and what happens when a run fails."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from geomndp import _validation
from geomndp._training_log import History, Log
from geomndp.train.checkpoint import Checkpoints
from geomndp.train.interleave import STEPS_PER_GENERATOR, trainer_at
from geomndp.train.progress import progress
from geomndp.train.step import StepInfo, Trainer, TrainState, train_steps


class TrainingDiverged(RuntimeError):
    """A loss or a gradient that is not finite: at which step and time, and what can be kept."""

    def __init__(self, step: int, info: StepInfo, saved: str):
        """Describe the first bad step; `saved` says where the last good state is."""
        self.step, self.time = step, float(info.time)
        super().__init__(
            f"training diverged at step {step}: loss {float(info.loss)}, gradient norm "
            f"{float(info.gradient_norm)}, largest loss at diffusion time {self.time:.6g}; {saved}"
        )


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
    """Train until `steps` are done, `chunk` of them in one dispatch, from wherever `state` is.

    One program is compiled, and a second one for a last stretch shorter than `chunk`; of several
    interleaved trainers (see `geomndp.train.interleave`), one each.
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
                state, seen = train_steps(trainer_at(trainers, done), state, length)
                _refuse_infinite(done, seen, checkpoints)
                before, done = done, done + length
                seconds = spent + time.monotonic() - start
                loss, norm = (np.mean(values).item() for values in (seen.loss, seen.gradient_norm))
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


def _refuse_infinite(done: int, seen: StepInfo, checkpoints: Checkpoints | None) -> None:
    finite = np.isfinite(np.asarray(seen.loss)) & np.isfinite(np.asarray(seen.gradient_norm))
    if not finite.all():
        first = int(np.argmin(finite))
        bad = StepInfo(*(values[first] for values in seen))
        raise TrainingDiverged(done + first + 1, bad, _saved(checkpoints))


def _saved(checkpoints: Checkpoints | None) -> str:
    if checkpoints is None:
        return "nothing was saved (give a directory to keep checkpoints)"
    if checkpoints.latest is None:
        return f"no checkpoint was written yet in {checkpoints.directory}"
    where = f"step {checkpoints.latest} in {checkpoints.directory}"
    return f"the last good checkpoint is {where}: the same call goes on from there"
