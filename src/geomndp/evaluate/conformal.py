r"""Conformal intervals: levels of a law's own intervals, corrected on functions it did not see.

The score of a held-out value y with the transform u = F(y) is its tail probability
$t = 2 \min(u, 1 - u)$: y lies in the law's central interval of level 1 - t, and in no smaller one.
Values of one function depend on each other, functions do not: the unit is the function (or the
group). Each of the K held-out ones has the weight 1 / (K + 1), shared by its values, and the new
one has the last 1 / (K + 1). The weighted quantile of the scores is then a level whose interval
covers a new value of a new function with at least the probability asked for, whatever the law (Lee,
Barber and Willett 2023, hierarchical conformal prediction): on average over functions and tasks
like those that calibrated it, not for every function by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from geomndp import _model_files, _validation
from geomndp.evaluate.task_metrics import TaskMetrics

NUM_SHARES = 400
"""Shares of the held-out values whose tail probability is kept; others are rounded up."""
ROUNDING = 1e-9
"""Excess of a share that counts as rounding."""


class Conformal(NamedTuple):
    """Which level a law must be asked for, so that new functions are covered as they should be.

    Attributes:
        num_functions: Number K of held-out functions, or groups of them.
        tails: The j-th of `NUM_SHARES` is the largest t such that at least the share
            j / `NUM_SHARES` of the held-out values has a tail probability of t or more.
    """

    num_functions: int
    tails: tuple[float, ...]

    def law_tail(self, level: float) -> float:
        """Probability outside of the law's own interval that covers `level` of new values.

        Args:
            level: Probability that the interval must have, between 0 and 1.

        Returns:
            A tail probability, both sides together: 1 - `level` for a calibrated law and many
            functions, less where the law was too sure.

        Raises:
            ValueError: If there are too few held-out functions for this level, or too many of their
                values lie outside of every interval of the law.
        """
        if not (_validation.is_number(level) and 0 < level < 1):
            raise ValueError(f"expected 0 < level < 1, got {level}")
        share = level * (self.num_functions + 1) / self.num_functions
        if share > 1 + ROUNDING:
            least = int(np.ceil(level / (1 - level) - ROUNDING))
            raise ValueError(
                f"expected at least {least} held-out functions for intervals of level {level:g}, "
                f"got {self.num_functions}"
            )
        index = int(np.ceil(min(share, 1.0) * len(self.tails) - ROUNDING))
        tail = self.tails[max(index, 1) - 1]
        if not tail > 0:
            raise ValueError(
                f"expected a law whose intervals reach the share {share:.3f} of the held-out "
                "values, got one that gives some of these no probability"
            )
        return tail

    @classmethod
    def load(cls, name: str | PathLike[str]) -> Conformal:
        """Read what a fit by selection kept in its model's file.

        Args:
            name: Path of the model, or the folder of its fit.

        Returns:
            The corrected levels.

        Raises:
            ValueError: If the file has none.
        """
        kept = _model_files.metadata(name).get("selection", {}).get("conformal")
        if kept is None:
            raise ValueError(
                f"expected a model that gn.fit chose on held-out functions, got {name}: call "
                "gn.evaluate.conformal with tasks on functions that it did not see"
            )
        num_functions, tails = kept
        return cls(num_functions, tuple(tails))


def conformal(metrics: TaskMetrics, groups: dict[str, Any] | None = None) -> Conformal:
    """Calibrate the intervals of a law on functions that it did not see.

    Args:
        metrics: Result of `gn.evaluate.on_tasks` on these functions, with tasks like those to come.
        groups: Label of every function by its name, where functions depend on each other, such as
            days of one storm: the labels are the units then.

    Returns:
        Corrected levels, for `posterior.interval`.

    Raises:
        ValueError: If the tasks have no values with a probability integral transform.

    Example:
        ```python
        found = gn.evaluate.conformal(gn.evaluate.on_tasks(model, held_out, tasks))
        low, high = model.condition(xc, yc).interval(x, level=0.9, conformal=found)
        ```
    """
    units = [name if groups is None else groups[name] for name in metrics.function]
    return from_transforms(metrics.pit, units, metrics.kind)


def from_transforms(pit: np.ndarray, units: Sequence[Any], kinds: Sequence[Any]) -> Conformal:
    """Corrected levels from probability integral transforms.

    Args:
        pit: Transforms of held-out values, shape (tasks, values), NaN where there is none.
        units: Function, or group, of every task.
        kinds: Kind of every task: each kind counts the same for a function, and every value the
            same within it.

    Returns:
        The corrected levels.

    Raises:
        ValueError: If no task has a value.
    """
    known = np.isfinite(pit)
    rows = np.flatnonzero(known.any(axis=1)).tolist()
    if not rows:
        raise ValueError("expected held-out values with transforms to calibrate by, got none")
    inside, own = known[rows], [units[row] for row in rows]
    weights = _task_weights(own, [kinds[row] for row in rows]) / np.sum(inside, axis=1)
    u, shares = pit[rows][inside], np.broadcast_to(weights[:, None], inside.shape)[inside]
    tails = 2 * np.minimum(u, 1 - u)
    order = np.argsort(-tails, kind="stable")
    covered = np.cumsum(shares[order]) / np.sum(shares)
    wanted = np.arange(1, NUM_SHARES + 1) / NUM_SHARES
    index = np.minimum(np.searchsorted(covered, wanted - ROUNDING), len(order) - 1)
    return Conformal(len(set(own)), tuple(float(tail) for tail in tails[order][index]))


def _task_weights(units: list[Any], kinds: list[Any]) -> np.ndarray:
    """Weight of every task: units count the same, within one its kinds, within these tasks."""
    cells = list(zip(units, kinds, strict=True))
    tasks = Counter(cells)
    num_kinds = Counter(unit for unit, _ in tasks)
    return np.array([1.0 / (tasks[cell] * num_kinds[cell[0]]) for cell in cells])
