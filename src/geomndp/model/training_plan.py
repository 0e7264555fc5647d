"""Everything that `fit` needs, chosen together, with the reasons in words."""

from __future__ import annotations

import dataclasses
import textwrap
from typing import Any

from geomndp._deprecated import renamed_arguments, renamed_attribute
from geomndp.data import AbstractGenerator
from geomndp.model.model import Model
from geomndp.train import DenoisingLoss, adam

WIDTH = 100


@renamed_arguments(peak="peak_learning_rate", choices="description")
@dataclasses.dataclass(frozen=True)
class TrainingPlan:
    """An untrained model, its training functions (in the model's units) and how to train it.

    `print` shows `description`, pairs of what was chosen and how.
    `gn.fit(plan, steps=..., key=...)` trains the model; any option of `fit` given there comes
    first.
    """

    model: Model
    data: AbstractGenerator
    loss: DenoisingLoss
    peak_learning_rate: float
    """Highest learning rate."""
    description: tuple[tuple[str, str], ...]

    peak = renamed_attribute("peak_learning_rate")
    choices = renamed_attribute("description")

    def options(self, steps: int) -> dict[str, Any]:
        """Options of `fit_score` for so many steps: the average spans the last twentieth."""
        ema_decay = min(0.999, max(0.5, 1 - 20 / steps))
        return {"optimiser": adam(steps, peak=self.peak_learning_rate), "ema_decay": ema_decay}

    def __str__(self) -> str:
        margin = max(len(what) for what, _ in self.description) + 2
        lines = []
        for what, chosen in self.description:
            first, *more = textwrap.wrap(chosen, WIDTH - margin)
            lines.append(what.ljust(margin) + first)
            lines += [" " * margin + line for line in more]
        return "\n".join(lines)
