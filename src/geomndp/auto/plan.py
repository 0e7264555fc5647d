"""A plan of `gn.build`: an untrained model, its training functions and how to train it."""

from __future__ import annotations

import dataclasses
import textwrap
from typing import Any

from geomndp._deprecated import renamed_arguments, renamed_attribute
from geomndp.data import AbstractGenerator
from geomndp.tables import Functions
from geomndp.train import adam

WIDTH = 100
DEFAULT_MINUTES = 5.0
"""Most time of a fit that is given neither steps nor minutes."""
TIME_LIMIT = f"at most {DEFAULT_MINUTES:g} minutes, or minutes=..."
"""What a description says of the time of a fit."""


@renamed_arguments(peak="peak_learning_rate", choices="description")
@dataclasses.dataclass(frozen=True)
class TrainingPlan:
    """An untrained model, its training functions and how to train it.

    `print` shows the description; `gn.fit(plan, key=...)` chooses between this model and simple
    ones, `gn.fit(plan, steps=..., key=...)` trains it alone, and any option of `fit` given there
    comes first.

    Attributes:
        model: The untrained `Model`, or the `ProcessModel` of a neural process.
        data: Generator of training functions, in the model's units.
        loss: The loss of a batch, an `AbstractLoss`.
        peak_learning_rate: Highest learning rate.
        description: Pairs of what was chosen and how.
        functions: The training functions in the data's units, from which validation tasks are
            drawn; None where there are none to choose by.
        groups: One label per function: functions of one label are held out together.
        ordered: Whether the functions follow each other in time: the last ones are held out.
        resizable: Whether a fit may make the network smaller where time is short.
        vectors: Whether the outputs are the components of one vector along the inputs, which turns
            with them.
        maps: Of a plan for tracks in local maps: the tracks and how they come into maps.
        order: Position of every function in the order of the table's labels; None for that order.
    """

    model: Any
    data: AbstractGenerator
    loss: Any
    peak_learning_rate: float
    description: tuple[tuple[str, str], ...]
    functions: Functions | None = None
    groups: tuple[str, ...] | None = None
    ordered: bool = False
    resizable: bool = True
    vectors: bool = False
    maps: Any = None
    order: tuple[int, ...] | None = None

    peak = renamed_attribute("peak_learning_rate")
    choices = renamed_attribute("description")

    def options(self, steps: int) -> dict[str, Any]:
        """Options of `fit_score` for so many steps: the average spans the last twentieth."""
        ema_decay = min(0.999, max(0.5, 1 - 20 / steps))
        return {"optimiser": adam(steps, peak=self.peak_learning_rate), "ema_decay": ema_decay}

    def described_for(self, minutes: float | None, steps: int | None = None) -> TrainingPlan:
        """The same plan, whose description says what a fit with these arguments does.

        Args:
            minutes: Time of the fit; None for the default.
            steps: Number of steps of this network alone; None for a choice between models.
        """
        if minutes is None and steps is None:
            return self
        lines = []
        for what, text in self.description:
            if steps is not None:
                lines.append((what, f"{steps} steps" if TIME_LIMIT in text else text))
            else:
                limit = f"at most {minutes:g} minute{'' if minutes == 1 else 's'}"
                lines.append((what, text.replace(TIME_LIMIT, limit)))
        return dataclasses.replace(self, description=tuple(lines))

    def __str__(self) -> str:
        margin = max(len(what) for what, _ in self.description) + 2
        lines = []
        for what, chosen in self.description:
            first, *more = textwrap.wrap(chosen, WIDTH - margin)
            lines.append(what.ljust(margin) + first)
            lines += [" " * margin + line for line in more]
        return "\n".join(lines)
