"""Time as the budget: how many steps of a network fit into what is left."""

from __future__ import annotations

from typing import NamedTuple

from geomndp.auto.early_stopping import CHUNK, EARLY_STOPS
from geomndp.auto.network_candidates import NetworkTiming

GAUSSIAN_SHARE = 0.35
"""Share of the time for the Gaussian candidates."""
SHORT_SHARE, SHORT_SECONDS = 0.5, 60.0
"""Their share of a short time, and how long they may take by it: no network is trained in less."""
REFIT_SHARE = 0.35
"""Share of the time of networks that is kept for the refit on all functions."""
MANY_REFIT_SHARE = 0.1
"""The same of many functions, of which a fifth more teach less than more steps."""
VALIDATION_SHARE = 0.2
NUM_POINTS = 12
"""Validations of one training; half as many where they take long."""
OTHER_VALIDATIONS = 4 + EARLY_STOPS
"""Those before and after it, of targets and of contexts, and the early ones."""
MIN_FUNCTIONS = 8
"""Held-out functions that validate at least: fewer tell no difference."""
MIN_STEPS = 150
"""Fewer steps than this teach a network nothing: it is left out."""
FOLD_STEPS = 600
"""With this many steps per fold, a network is trained on one more fold."""
MAX_STEPS = 20_000


def gaussian_seconds(total: float) -> float:
    """Seconds for the Gaussian candidates of so many in all."""
    return max(GAUSSIAN_SHARE * total, min(SHORT_SHARE * total, SHORT_SECONDS))


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
    seconds: float,
    timing: NetworkTiming,
    *,
    num_functions: int,
    num_folds: int,
    refit_share: float = REFIT_SHARE,
) -> NetworkSchedule:
    """Sizes of a training that take so many seconds, validation and refit included.

    Args:
        seconds: Time for this network.
        timing: Seconds per step and per validation with `num_functions` functions.
        num_functions: Held-out functions of a fold.
        num_folds: Most folds.
        refit_share: Share of the time that is kept for the refit.

    Returns:
        The schedule.
    """
    refit = refit_share * seconds
    training = seconds - refit
    folds = 1
    while folds < num_folds and training / (folds + 1) / timing.step >= FOLD_STEPS:
        folds += 1
    per_fold = training / folds
    functions, allowed = num_functions, VALIDATION_SHARE * per_fold
    points = NUM_POINTS
    if (NUM_POINTS + OTHER_VALIDATIONS) * timing.validation > allowed:
        points = NUM_POINTS // 2
    validating = (points + OTHER_VALIDATIONS) * timing.validation
    if validating > allowed:
        functions = max(MIN_FUNCTIONS, int(num_functions * allowed / validating))
        functions = min(functions, num_functions)
        validating *= functions / num_functions
    steps = int((per_fold - validating) / timing.step)
    if steps < MIN_STEPS:
        return NetworkSchedule(0, CHUNK, functions, 0, 0)
    every = _rounded(min(steps, MAX_STEPS) / points)
    return NetworkSchedule(every * points, every, functions, folds, _rounded(refit / timing.step))


def _rounded(steps: float) -> int:
    return max(CHUNK, int(steps) // CHUNK * CHUNK)
