"""`gn.fit`: train a model, or what a plan says."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

from geomndp._deprecated import translate
from geomndp._types import Batch
from geomndp.auto.plan import TrainingPlan
from geomndp.data import AbstractGenerator
from geomndp.model import Model, fit as fit_model
from geomndp.model.inputs import Seed
from geomndp.train import DenoisingLoss, History


def fit(
    model: Model | TrainingPlan,
    data: AbstractGenerator | Sequence[AbstractGenerator] | Batch | None = None,
    *,
    steps: int,
    key: Seed,
    loss: DenoisingLoss | None = None,
    directory: str | PathLike[str] | None = None,
    notes: dict[str, Any] | None = None,
    **options: Any,
) -> tuple[Model, History]:
    """Train a model.

    Args:
        model: A model with a `NetworkScore`, or a plan of `gn.build`, which has its own data, loss
            and options.
        data: A generator of fresh functions, several that are interleaved, or a batch of functions
            in the data's units.
        steps: Number of training steps.
        key: Random key or seed of the whole run.
        loss: Loss of a batch; the plain denoising loss by default.
        directory: Folder for `log.csv`, `checkpoints/` and, when done, the model: `gn.load` and
            `geomndp condition` take the folder. Re-running the call resumes from the last
            checkpoint; a call with other data or settings is refused.
        notes: Metadata (JSON) to save with the model.
        **options: Those of `geomndp.train.fit_score`: `quiet`, `devices`, `optimiser`, ...

    Returns:
        The trained model, with averaged parameters, and the history of the run.

    Raises:
        ValueError: If there is nothing to train or to learn from, or the folder holds another run.

    Example:
        `model, history = gn.fit(plan, steps=3000, key=0, directory="run")`
    """
    if isinstance(model, TrainingPlan):
        options = translate("geomndp.train.fit.fit_score", options)
        options = {**model.options(steps), **options}
        loss = model.loss if loss is None else loss
        model, data = model.model, model.data if data is None else data
    common = {"loss": loss, "directory": directory, "notes": notes}
    return fit_model(model, data, steps=steps, key=key, **common, **options)
