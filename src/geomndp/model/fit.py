"""Train a model's score on functions, by a plan or by hand."""

from __future__ import annotations

import dataclasses
import tempfile
import textwrap
import warnings
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from geomndp import _validation
from geomndp._deprecated import renamed_arguments, renamed_attribute, translate
from geomndp._types import Batch
from geomndp.data import AbstractGenerator, ResampledGenerator
from geomndp.model.inputs import Seed, as_key, as_mask
from geomndp.model.model import Model, in_full_precision
from geomndp.model.record import with_support
from geomndp.model.units import common_centre, to_model_units
from geomndp.score import NetworkScore
from geomndp.tables import Functions
from geomndp.train import DenoisingLoss, History, adam, fit_score

WIDTH = 100


@renamed_arguments(peak="peak_learning_rate", choices="description")
@dataclasses.dataclass(frozen=True)
class TrainingPlan:
    """An untrained model, its training functions and how to train it.

    `print` shows the description; `gn.fit(plan, key=...)` chooses between this model and simple
    ones, `gn.fit(plan, steps=..., key=...)` trains it alone, and any option of `fit` given there
    comes first.

    Attributes:
        model: The untrained model.
        data: Generator of training functions, in the model's units.
        loss: The loss.
        peak_learning_rate: Highest learning rate.
        description: Pairs of what was chosen and how.
        functions: The training functions in the data's units, from which validation tasks are
            drawn; None where there are none to choose by.
        groups: One label per function: functions of one label are held out together.
        ordered: Whether the functions follow each other in time: the last ones are held out.
    """

    model: Model
    data: AbstractGenerator
    loss: DenoisingLoss
    peak_learning_rate: float
    description: tuple[tuple[str, str], ...]
    functions: Functions | None = None
    groups: tuple[str, ...] | None = None
    ordered: bool = False

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
    options = translate("geomndp.train.fit.fit_score", options)
    if isinstance(model, TrainingPlan):
        options = {**model.options(steps), **options}
        loss = model.loss if loss is None else loss
        model, data = model.model, model.data if data is None else data
    if data is None:
        raise ValueError("expected functions to learn from, got none")
    if not isinstance(model.score, NetworkScore):
        raise ValueError(f"expected a NetworkScore to train, got {type(model.score).__name__}")
    if isinstance(data, Batch):
        functions = _functions(model, data)
        data = ResampledGenerator(functions=functions, batch_size=min(256, len(functions.x)))
    loss = DenoisingLoss(t_min=model.t_min) if loss is None else loss
    untrained, model = model.score, with_support(model, data, loss)
    if directory is not None:
        named = {"normaliser": model.normaliser, "variables": model.variables, "t_min": model.t_min}
        options = {"directory": directory, "model_settings": named, **options}
    keep = directory is not None and jax.process_index() == 0 and _can_be_kept(model, notes)
    score, history = fit_score(
        untrained, model.noising, data, steps=steps, key=as_key(key), loss=loss, **options
    )
    model = dataclasses.replace(model, score=score)
    if directory is not None and keep:
        seconds = float(history.seconds[-1]) if len(history.seconds) else 0.0
        notes = {"steps": steps, "training_seconds": seconds, **(notes or {})}
        in_full_precision(model).save(Path(directory) / "model", notes)
    return model, history


def _can_be_kept(model: Model, notes: dict[str, Any] | None) -> bool:
    """Whether the model can be written, found out before it is trained; a warning says why not."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            in_full_precision(model).save(Path(folder) / "model", notes)
        except ValueError as error:
            warnings.warn(f"only checkpoints will be kept, no model file: {error}", stacklevel=3)
            return False
    return True


def _functions(model: Model, data: Batch) -> Batch:
    """Functions of a user's batch in the model's units; masked points are padding.

    Far inputs count from a centre of each function where the model sees differences only.
    """
    mask, context = as_mask("mask", data.mask), as_mask("context", data.context)
    for values in (data.x, data.y):
        gone = _validation.missing(values, rank=2)
        mask = mask if gone is None else mask * jnp.asarray(~gone, mask.dtype)
    dtype, normaliser = jnp.result_type(float), model.normaliser
    x, y = (v if isinstance(v, jax.Array) else np.ma.getdata(v) for v in (data.x, data.y))
    y = y if normaliser is None else normaliser.forward_y(y)
    if isinstance(x, jax.Array):
        x = x if normaliser is None else normaliser.forward_x(x)
    else:
        counted = zip(x, np.asarray(mask), strict=True)
        rows = [to_model_units(model, v, dtype, common_centre(model, v, m), m) for v, m in counted]
        x = np.stack(rows)
    x, y = jnp.asarray(x), jnp.asarray(y)
    return Batch(x, y, mask.astype(x.dtype), context.astype(x.dtype))
