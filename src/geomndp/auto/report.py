"""What was compared, what was chosen and why, for people and as JSON."""

from __future__ import annotations

import dataclasses
import textwrap
from typing import Any

import numpy as np

from geomndp.auto.plan import WIDTH
from geomndp.auto.validation import ValidationTasks
from geomndp.evaluate import Conformal
from geomndp.evaluate.task_metrics import TaskMetrics


@dataclasses.dataclass(frozen=True)
class CandidateResult:
    """One candidate on the validation tasks.

    Attributes:
        name: Its name.
        nats: Mean joint log-density per target value, over kinds and functions.
        standard_error: Standard error of the difference to the chosen law, over functions.
        by_kind: Mean by kind of task.
        note: What it is, or why it is missing.
    """

    name: str
    nats: float
    standard_error: float
    by_kind: dict[str, float]
    note: str = ""


@dataclasses.dataclass(frozen=True)
class SelectionReport:
    """Result of a fit that chose between candidates; `print` shows it.

    Attributes:
        candidates: All candidates, best first.
        chosen: Members of the chosen law with their weights before any context.
        nats: Held-out joint log-density of the chosen law per target value.
        coverage: Share of held-out target values in their central 90% interval, by kind and for
            "all".
        pit: Histogram of the probability integral transform of held-out target values: shares of
            ten equal intervals.
        num_held_out: Number of functions that validated.
        seed: Seed of the split and of everything else.
        held_out: Positions of the held-out functions in the order of the table's labels, fold by
            fold.
        seconds: Seconds by part of the fit.
        notes: Further sentences.
        coverage_error: Standard errors of the coverage over functions, or over groups of them.
        conformal: Levels that the held-out functions corrected, for `posterior.interval`; None for
            tracks. These functions were seen by none of the laws that predicted them, and the law
            that is refitted to all functions takes the levels over.
    """

    candidates: tuple[CandidateResult, ...]
    chosen: tuple[tuple[str, float], ...]
    nats: float
    coverage: dict[str, float]
    pit: tuple[float, ...]
    num_held_out: int
    seed: int
    held_out: tuple[tuple[int, ...], ...]
    seconds: dict[str, float]
    notes: tuple[str, ...] = ()
    coverage_error: dict[str, float] = dataclasses.field(default_factory=dict)
    conformal: Conformal | None = None

    def sentence(self) -> str:
        """The result in one sentence."""
        listed = ", ".join(f"{result.name} {result.nats:.2f}" for result in self.candidates)
        weights = ", ".join(f"{name} ({weight:.2f})" for name, weight in self.chosen)
        chosen = self.chosen[0][0] if len(self.chosen) == 1 else f"mixture of {weights}"
        coverage = self.coverage.get("all", float("nan"))
        return (
            f"held-out: {listed} nats per target; chosen: {chosen}, {self.nats:.2f} nats, "
            f"90% coverage {coverage:.2f}"
        )

    def __str__(self) -> str:
        return f"{self.details()}\n{self.sentence()}"

    def details(self) -> str:
        """Candidates, calibration, seconds and remarks: all but the sentence."""
        kinds = list(dict.fromkeys(kind for result in self.candidates for kind in result.by_kind))
        width = max([9, *(len(result.name) for result in self.candidates)]) + 2
        lines = ["candidate".ljust(width) + "nats per target value, held out"]
        for result in self.candidates:
            values = [f"{kind} {result.by_kind[kind]:.3f}" for kind in kinds]
            error = _with_error(" (difference", result.standard_error, 3, ")")
            lines.append(f"{result.name.ljust(width)}{result.nats:.3f}{error}  {', '.join(values)}")
            lines += textwrap.wrap(result.note, WIDTH, initial_indent="  ", subsequent_indent="  ")
        covered = ", ".join(
            f"{kind} {value:.2f}" + _with_error("", self.coverage_error.get(kind, np.inf), 2)
            for kind, value in self.coverage.items()
        )
        lines += [f"coverage of 90% intervals: {covered}", f"PIT histogram: {_row(self.pit)}"]
        spent = ", ".join(f"{part} {seconds:.0f}" for part, seconds in self.seconds.items())
        count = f"{self.num_held_out} held-out function" + "s" * (self.num_held_out != 1)
        lines += [f"{count}, seed {self.seed}; seconds: {spent}"]
        return "\n".join([*lines, *self.notes])

    def as_json(self) -> dict[str, Any]:
        """All fields as JSON, None for numbers that are not finite."""
        return _finite(dataclasses.asdict(self))


def _finite(value: Any) -> Any:
    """A tree of dictionaries and sequences, with None for numbers that are not finite."""
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _with_error(before: str, error: float, digits: int, after: str = "") -> str:
    """A standard error between some words; nothing of one function, which has none."""
    return f"{before} +- {error:.{digits}f}{after}" if np.isfinite(error) else ""


def _row(values: tuple[float, ...]) -> str:
    return " ".join(f"{value:.2f}" for value in values)


def coverage_by_kind(
    pit: np.ndarray, tasks: ValidationTasks, level: float = 0.9
) -> tuple[dict[str, float], dict[str, float]]:
    """Share of values in the central interval, by kind of task and for all.

    Args:
        pit: Probability integral transforms (tasks, values); NaN for padding.
        tasks: The tasks.
        level: Probability of the interval.

    Returns:
        Shares by kind and for "all", the mean over kinds; and their standard errors over
        functions, or groups of them, infinite for one.
    """
    inside = np.where(np.isnan(pit), np.nan, np.abs(pit - 0.5) <= level / 2)
    kinds, values = tuple(map(str, tasks.kind)), {"coverage": np.nanmean(inside, axis=1)}
    measured = TaskMetrics(kinds, tuple(tasks.group.tolist()), values, pit)
    found = {kind: part["coverage"] for kind, part in measured.summary().items()}
    found["all"] = measured.over_kinds()["coverage"]
    errors = {name: np.inf if error is None else error for name, (_, error) in found.items()}
    return {name: share for name, (share, _) in found.items()}, errors


def pit_histogram(pit: np.ndarray) -> tuple[float, ...]:
    """Shares of ten equal intervals of [0, 1]; all are 0.1 for the right law.

    Args:
        pit: Probability integral transforms, any shape; NaN for padding.

    Returns:
        Ten shares.
    """
    counts, _ = np.histogram(pit[np.isfinite(pit)], bins=10, range=(0.0, 1.0))
    return tuple(float(share) for share in counts / max(1, counts.sum()))
