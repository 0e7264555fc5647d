"""Train a model's score on functions."""

from __future__ import annotations

import dataclasses
import tempfile
import warnings
from os import PathLike
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from geomndp._types import Batch, PRNGKeyArray
from geomndp.data import AbstractStream, Resampled
from geomndp.model.model import Model
from geomndp.model.precision import in_full_precision
from geomndp.model.recipe import Recipe
from geomndp.score import NetworkScore
from geomndp.train import DenoisingLoss, History, fit_score


def fit(
    model: Model | Recipe,
    data: AbstractStream | Batch | None = None,
    *,
    steps: int,
    key: PRNGKeyArray,
    loss: DenoisingLoss | None = None,
    directory: str | PathLike[str] | None = None,
    notes: dict[str, Any] | None = None,
    **options: Any,
) -> tuple[Model, History]:
    """Train for `steps` steps on a stream of fresh functions, or on those of a batch.

    A batch is in the data's units. A recipe of `gn.build` has its own data and options:
    `gn.fit(recipe, steps=..., key=...)`.

    Args:
        directory: folder for `log.csv`, `checkpoints/` and, when done, the model with `notes`
            (JSON): `gn.load(directory)` and `geomndp condition DIRECTORY ...` take it. The same
            call resumes a stopped run; one with other data or settings is refused.
        **options: those of `geomndp.train.fit_score`: `quiet`, `devices`, `optimiser`, ...
    """
    if isinstance(model, Recipe):
        options = {**model.options(steps), **options}
        loss = model.loss if loss is None else loss
        model, data = model.model, model.data if data is None else data
    if data is None:
        raise ValueError("expected functions to learn from, got none")
    if not isinstance(model.score, NetworkScore):
        raise ValueError(f"expected a NetworkScore to train, got {type(model.score).__name__}")
    if isinstance(data, Batch):
        functions = _normalised(model, data)
        data = Resampled(functions=functions, batch_size=min(256, len(functions.x)))
    loss = DenoisingLoss(eps=model.eps) if loss is None else loss
    if directory is not None:
        named = {"normaliser": model.normaliser, "variables": model.variables, "eps": model.eps}
        options = {"directory": directory, "also": named, **options}
    keep = directory is not None and jax.process_index() == 0 and _can_be_kept(model, notes)
    score, history = fit_score(
        model.score, model.noising, data, steps=steps, key=key, loss=loss, **options
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


def _normalised(model: Model, data: Batch) -> Batch:
    normaliser = model.normaliser
    if normaliser is None:
        return data
    x, y = normaliser.forward_x(data.x), normaliser.forward_y(data.y)
    return data._replace(x=jnp.asarray(x), y=jnp.asarray(y))
