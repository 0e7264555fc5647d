"""Training with validation on the way: every stop is measured, and none of it is lost by a kill."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from geomndp import _atomic_io
from geomndp.auto.clock import Left
from geomndp.auto.run_plan import RunPlan
from geomndp.train.checkpoint import Checkpoints
from geomndp.train.step import Trainer, TrainState, train_steps

CHUNK = 10
"""Steps per call of the compiled program; all numbers of steps are multiples of it."""
EARLY_STOPS = 3
"""Stops before the first regular one, each at half the steps of the next: few functions are
learnt by heart early."""
FIRST_STOP = 100
"""Fewer steps than this are no stop."""


class ValidationPoint(NamedTuple):
    """A stop on the way of a training.

    Attributes:
        step: Steps done.
        params: Averaged parameters.
        values: Nats per target value of every validation task.
    """

    step: int
    params: np.ndarray
    values: np.ndarray


class ValidatedRun(NamedTuple):
    """A training with its validation points; without any if it diverged before the first."""

    state: TrainState
    points: tuple[ValidationPoint, ...]


class Deadline:
    """The end of a training when its time is up, decided once: a resumed run ends there too."""

    def __init__(self, run: RunPlan, name: str, left: Left):
        """Name the decision.

        Args:
            run: Decisions of the run.
            name: Name of this one: the step after which the training was stopped.
            left: Tells the time that is left.
        """
        self._run, self._name, self._left = run, name, left

    def passed(self, step: int, validated: int) -> bool:
        """Whether the training ends.

        Args:
            step: Steps done.
            validated: Steps done at the last validation, where it ends if it does.

        Returns:
            True if the time is up, or was up here before.
        """
        if self._name in self._run.decisions:
            return step >= self._run.decisions[self._name]
        if self._left() > 0:
            return False
        self._run.decide(self._name, lambda: validated)
        return True


def train_validated(
    trainer: Trainer,
    state: TrainState,
    *,
    steps: int,
    every: int,
    early: int = 0,
    validate: Callable[[Any], np.ndarray],
    mean: Callable[[np.ndarray], float],
    patience: int | None = None,
    deadline: Deadline | None = None,
    folder: Path | None = None,
    settings: dict[str, Any] | None = None,
    log: Callable[[int, float], None] = lambda step, value: None,
) -> ValidatedRun:
    """Train, and validate the averaged parameters every so many steps.

    With a folder the state is kept at every validation point: the same call resumes there, and ends
    with the same bits.

    Args:
        trainer: The fixed part of the run.
        state: Initial state; its buffers are donated.
        steps: Number of steps, a multiple of `CHUNK`.
        every: Steps between validations, a multiple of `CHUNK`.
        early: Validations before the first of these, each at half the steps of the next.
        validate: Nats per target value of every task, from a score.
        mean: Mean of these, by which points are compared.
        patience: Stop after so many points in a row without a better one.
        deadline: Stops the training when its time is up, between any two calls of the program;
            what was done since the last validation is then lost.
        folder: Keeps checkpoints and validation points.
        settings: What the run is made of (JSON): another run in the folder is refused.
        log: Called with the step and the mean of every point.

    Returns:
        The state at the end, and all validation points; training that diverges ends there.
    """
    points: list[ValidationPoint] = []
    checkpoints = None
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        checkpoints = Checkpoints(folder / "checkpoints", settings or {}, keep=1)
        state = checkpoints.restore(state) or state
        points = _read(folder, int(state.step))
    while int(state.step) < steps and not _exhausted(points, mean, patience):
        target = min(steps, _next_stop(int(state.step), every, early))
        state, whole = _advance(trainer, state, target, deadline)
        if not whole:
            break
        params = np.asarray(state.ema_params)
        point = ValidationPoint(int(state.step), params, validate(trainer.score(state.ema_params)))
        points.append(point)
        log(point.step, mean(point.values))
        if checkpoints is not None and folder is not None:
            _write(folder, point)
            checkpoints.save(state)
    if checkpoints is not None:
        checkpoints.close()
    return ValidatedRun(state, tuple(points))


def _next_stop(step: int, every: int, early: int) -> int:
    """The first validation after a step."""
    halves = (every // 2**number // CHUNK * CHUNK for number in range(early, 0, -1))
    stops = [stop for stop in halves if stop >= FIRST_STOP and stop > step]
    return stops[0] if stops else (step // every + 1) * every


def _advance(
    trainer: Trainer, state: TrainState, target: int, deadline: Deadline | None
) -> tuple[TrainState, bool]:
    """Steps up to a number, and whether all were done, in time and with finite losses."""
    validated = step = int(state.step)
    while step < target:
        if deadline is not None and deadline.passed(step, validated):
            return state, False
        state, info = train_steps(trainer, state, CHUNK)
        if not np.all(np.isfinite(np.asarray(info.loss))):
            return state, False
        step += CHUNK
    return state, True


def _exhausted(points, mean, patience: int | None) -> bool:
    if patience is None or len(points) <= patience:
        return False
    values = [mean(point.values) for point in points]
    return int(np.argmax(values)) < len(values) - patience


def _read(folder: Path, upto: int) -> list[ValidationPoint]:
    """Validation points that the restored state has behind it."""
    points = []
    for path in sorted(folder.glob("point-*.npz")):
        with np.load(path) as content:
            point = ValidationPoint(int(content["step"]), content["params"], content["values"])
        if point.step <= upto:
            points.append(point)
    return points


def _write(folder: Path, point: ValidationPoint) -> None:
    with _atomic_io.replacing(folder / f"point-{point.step:08d}.npz") as temporary:
        np.savez(temporary, **point._asdict())  # pyright: ignore
