"""Everything that `fit` needs, chosen together, with the reasons in words."""

from __future__ import annotations

import textwrap
from typing import Any, NamedTuple

from geomndp.data import AbstractGenerator
from geomndp.model.model import Model
from geomndp.train import DenoisingLoss, adam

WIDTH = 100


class Recipe(NamedTuple):
    """An untrained model, its training functions (in the model's units) and how to train it.

    `print` shows `choices`, pairs of what was chosen and how. `gn.fit(recipe, steps=..., key=...)`
    trains the model; any option of `fit` given there comes first.
    """

    model: Model
    data: AbstractGenerator
    loss: DenoisingLoss
    peak: float
    """Highest learning rate."""
    choices: tuple[tuple[str, str], ...]

    def options(self, steps: int) -> dict[str, Any]:
        """Options of `fit_score` for so many steps: the average spans the last twentieth."""
        ema_decay = min(0.999, max(0.5, 1 - 20 / steps))
        return {"optimiser": adam(steps, peak=self.peak), "ema_decay": ema_decay}

    def __str__(self) -> str:
        margin = max(len(what) for what, _ in self.choices) + 2
        lines = []
        for what, chosen in self.choices:
            first, *more = textwrap.wrap(chosen, WIDTH - margin)
            lines.append(what.ljust(margin) + first)
            lines += [" " * margin + line for line in more]
        return "\n".join(lines)
