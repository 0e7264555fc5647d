"""Time as the budget: how many steps of which network fit into what is left.

What a timing decides is written to the run's folder before training, and read from there when the
run is resumed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from geomndp import _atomic_io
from geomndp.auto.early_stopping import CHUNK
from geomndp.auto.network_candidates import NetworkTiming

GAUSSIAN_SHARE = 0.3
"""Share of the time for the Gaussian candidates."""
REFIT_SHARE = 0.25
"""Share of the time of networks that is kept for the refit on all functions."""
VALIDATION_SHARE = 0.2
NUM_POINTS = 12
"""Validations of one training."""
MIN_STEPS = 300
"""Fewer steps than this teach a network nothing: it is left out."""
FOLD_STEPS = 600
"""With this many steps per fold, a network is trained on one more fold."""
MAX_STEPS = 20_000


class NetworkSchedule(NamedTuple):
    """What is done with a network.

    Attributes:
        steps: Length of the schedule of learning rates, 0 to leave the network out.
        every: Steps between validations.
        num_functions: Held-out functions that validate.
        num_folds: Folds that it is trained on.
        refit_steps: Most steps of the refit on all functions.
    """

    steps: int
    every: int
    num_functions: int
    num_folds: int
    refit_steps: int


def network_schedule(
    seconds: float, timing: NetworkTiming, *, num_functions: int, num_folds: int
) -> NetworkSchedule:
    """Sizes of a training that take so many seconds, validation and refit included.

    Args:
        seconds: Time for this network.
        timing: Seconds per step and per validation with `num_functions` functions.
        num_functions: Held-out functions of a fold.
        num_folds: Most folds.

    Returns:
        The schedule.
    """
    refit = REFIT_SHARE * seconds
    training = seconds - refit
    folds = 1
    while folds < num_folds and training / (folds + 1) / timing.step >= FOLD_STEPS:
        folds += 1
    per_fold = training / folds
    functions = num_functions
    validating = NUM_POINTS * timing.validation
    if validating > VALIDATION_SHARE * per_fold:
        functions = max(4, int(num_functions * VALIDATION_SHARE * per_fold / validating))
        functions = min(functions, num_functions)
        validating *= functions / num_functions
    steps = int((per_fold - validating) / timing.step)
    if steps < MIN_STEPS:
        return NetworkSchedule(0, CHUNK, functions, 0, 0)
    every = _rounded(min(steps, MAX_STEPS) / NUM_POINTS)
    return NetworkSchedule(
        every * NUM_POINTS, every, functions, folds, _rounded(refit / timing.step)
    )


def _rounded(steps: float) -> int:
    return max(CHUNK, int(steps) // CHUNK * CHUNK)


class RunPlan:
    """Decisions of a run by name, kept in `plan.json`: what was decided once stays decided."""

    def __init__(self, folder: Path | None, settings: dict[str, Any]):
        """Open or make the plan.

        Args:
            folder: The run's folder; None keeps decisions in memory.
            settings: What the run was called with (JSON).

        Raises:
            ValueError: If the folder holds a plan of a call with other settings.
        """
        self._path = None if folder is None else folder / "plan.json"
        settings = json.loads(json.dumps(settings))
        self.decisions: dict[str, Any] = {"settings": settings}
        if self._path is not None and self._path.exists():
            self.decisions = json.loads(self._path.read_text(encoding="utf-8"))
            there = self.decisions.get("settings", {})
            differing = [name for name in settings if there.get(name) != settings[name]]
            if differing:
                name = differing[0]
                raise ValueError(
                    f"expected the run of {self._path} with {name} {there.get(name)}, "
                    f"got {settings[name]}; choose another folder"
                )
        self._write()

    def decide(self, name: str, make: Any) -> Any:
        """The decision of this name: the one in the folder, else the one that `make()` takes now.

        Args:
            name: Its name.
            make: Called without arguments where nothing is decided yet; returns JSON.

        Returns:
            The decision.
        """
        if name not in self.decisions:
            self.decisions[name] = json.loads(json.dumps(make()))
            self._write()
        return self.decisions[name]

    def _write(self) -> None:
        if self._path is not None:
            _atomic_io.write(self._path, json.dumps(self.decisions, indent=1) + "\n")
